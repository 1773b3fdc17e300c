// Made from widgets/js/ by `npm run build` there: edit the sources, not this file.
var VERSION=1;var STOPPED="circuit-explorer-stopped";function parseJson(what,json){try{return typeof json==="string"?JSON.parse(json):json}catch(error){throw new Error(`${what} not JSON: ${errorText(error)}`)}}
function checkVersion(what,version){if(typeof version==="number"&&version>VERSION){throw new Error(`${what} version ${version}; this drawing knows version ${VERSION}. Update the explorer.`)}}var errorText=error=>error instanceof
Error?error.message:String(error);var SVG="http://www.w3.org/2000/svg";function maker(doc){const fill=(element,attributes,children)=>{for(const[name2,value]of Object.entries(attributes||{})){if(value==null||value===false)continue;if(name2===
"text")element.textContent=value;else if(typeof value==="function")element.addEventListener(name2.slice(2),value);else element.setAttribute(name2,value===true?"":String(value))}for(const child of children.
flat())if(child)element.appendChild(child);return element};return{doc,h:(tag,attributes={},...children)=>fill(doc.createElement(tag),attributes,children),s:(tag,attributes={},...children)=>fill(doc.createElementNS(
SVG,tag),attributes,children)}}var OWN=Math.random().toString(36).slice(2,8);var serial=0;var uniqueName=prefix=>`${prefix}${OWN}-${serial+=1}`;function setChildren(parent,children){const now=[...parent.
childNodes];if(now.length!==children.length||now.some((child,index)=>child!==children[index])){parent.replaceChildren(...children)}}function focusedIn(root){const tree=root.getRootNode?root.getRootNode():
root.ownerDocument;return tree.activeElement||root.ownerDocument.activeElement||null}var classes=(...names)=>names.filter(Boolean).join(" ");function makeStore(state){const parts=[];return{state,add:(...added)=>void parts.push(...added),set(changes){const names=Object.keys(changes);const changed=new Set(names.filter(name2=>changes[name2]!==
state[name2]));Object.assign(state,changes);for(const part of parts)if(part.reads.some(name2=>changed.has(name2)))part.draw(state,changed)},draw(){const all=new Set(Object.keys(state));for(const part of parts)
part.draw(state,all)}}}var theme_default={light:{roles:{bg:"#ffffff",ground:"#f7f8fa",panel:"#ffffff",fg:"#16191d",muted:"#565d66",line:"#d5d9df",control:"#858c96",box:"#ffffff",kept:"#7d858f",edge:"#88909a",accent:"#0a5fb4",
onAccent:"#ffffff",soft:"#eaf1f9",added:"#009e73",onAdded:"#000000",addedFill:"#dcf3ea",removed:"#d55e00",onRemoved:"#000000",removedFill:"#fdeadf",changed:"#0072b2",onChanged:"#ffffff",changedFill:"#\
ddedf8",matched:"#e69f00",onMatched:"#000000",matchedFill:"#fad98f",matchedLine:"#6b4a00",nearMiss:"#b35a89",nearMissFill:"#f7e3ee",lost:"#6e6e6e",lostFill:"#ececec",onLost:"#ffffff",hatch:"#b9bec6",info:"\
#0072b2",onInfo:"#ffffff",warning:"#e69f00",onWarning:"#000000",error:"#b3261e",onError:"#ffffff",copy:"#8a3d00",copyFill:"#fff1e2",free:"#2b5d4d",freeFill:"#e6f4ee",shade:"rgba(20,25,35,.14)",good:"#\
00694d",goodFill:"#e3f5ee",bad:"#a83a00",badFill:"#fdeee4",faster:"#5e3c99",slower:"#b35806",noise:"#858c96",input:"#86b2dc",sum:"#55b09c",product:"#e2bd63",fused:"#9f8bd6",operator:"#b3bac4",leaf:"#c\
6ccd4",onCell:"#10151c",viewLine:"#2b7de0",copyLine:"#cf5a1f"},categories:["#cfe3f5","#fbe3b6","#cdeadf","#f6d5e4","#dcd6f2","#f8d9c6","#d9e8b8","#c9ebf0","#ecdcc4","#e3e3e3","#f9f0ad","#e2cfe8"],series:[
"#0072b2","#d55e00","#009e73","#b35a89","#7d6500","#565d66"]},dark:{roles:{bg:"#14171c",ground:"#191d23",panel:"#1f242b",fg:"#eceef1",muted:"#a9b1bb",line:"#3a414b",control:"#7d8792",box:"#262c34",kept:"\
#8a94a0",edge:"#7d8792",accent:"#7cc0ff",onAccent:"#06121f",soft:"#23313f",added:"#1fc796",onAdded:"#000000",addedFill:"#123a2e",removed:"#f0803a",onRemoved:"#000000",removedFill:"#45240f",changed:"#5\
6b4e9",onChanged:"#000000",changedFill:"#143448",matched:"#e69f00",onMatched:"#000000",matchedFill:"#7a5a10",matchedLine:"#ffd277",nearMiss:"#cc79a7",nearMissFill:"#43263a",lost:"#a3a3a3",lostFill:"#3\
4373b",onLost:"#000000",hatch:"#59626d",info:"#56b4e9",onInfo:"#000000",warning:"#e69f00",onWarning:"#000000",error:"#ff8a80",onError:"#000000",copy:"#ffb877",copyFill:"#3d2a17",free:"#8fd8bf",freeFill:"\
#17362d",shade:"rgba(0,0,0,.5)",good:"#5fdcb4",goodFill:"#12332a",bad:"#ffab7a",badFill:"#3a2113",faster:"#b2abd2",slower:"#f1a340",noise:"#7d8792",input:"#5f8fc0",sum:"#3c9a86",product:"#b98f36",fused:"\
#8571c4",operator:"#717b87",leaf:"#7d8794",onCell:"#0b0f14",viewLine:"#6aaeff",copyLine:"#ff945c"},categories:["#1f4b73","#6a4a08","#14563f","#6b2f50","#453a7d","#733a17","#475a14","#155560","#5b4727",
"#4a4d52","#625a0c","#583463"],series:["#56b4e9","#f0803a","#1fc796","#cc79a7","#e6c84a","#a9b1bb"]},forced:{roles:{bg:"Canvas",ground:"Canvas",panel:"Canvas",fg:"CanvasText",muted:"CanvasText",line:"\
CanvasText",control:"CanvasText",box:"Canvas",kept:"CanvasText",edge:"CanvasText",accent:"Highlight",onAccent:"HighlightText",soft:"Canvas",added:"CanvasText",onAdded:"Canvas",addedFill:"Canvas",removed:"\
CanvasText",onRemoved:"Canvas",removedFill:"Canvas",changed:"CanvasText",onChanged:"Canvas",changedFill:"Canvas",matched:"CanvasText",onMatched:"Canvas",matchedFill:"Canvas",matchedLine:"CanvasText",nearMiss:"\
CanvasText",nearMissFill:"Canvas",lost:"CanvasText",lostFill:"Canvas",onLost:"Canvas",hatch:"CanvasText",info:"CanvasText",onInfo:"Canvas",warning:"CanvasText",onWarning:"Canvas",error:"CanvasText",onError:"\
Canvas",copy:"CanvasText",copyFill:"Canvas",free:"CanvasText",freeFill:"Canvas",shade:"Canvas",good:"CanvasText",goodFill:"Canvas",bad:"CanvasText",badFill:"Canvas",faster:"Highlight",slower:"CanvasTe\
xt",noise:"GrayText",input:"Canvas",sum:"Canvas",product:"Canvas",fused:"Canvas",operator:"Canvas",leaf:"Canvas",onCell:"CanvasText",viewLine:"CanvasText",copyLine:"CanvasText"},categories:[],series:[
"CanvasText"]},heat:["#00204c","#00316f","#31446b","#4d556b","#666870","#7b7b78","#958f78","#aea373","#cab969","#e6d059","#ffe945"],changes:{kept:{sign:"",dash:[],edgeDash:[]},added:{sign:"+",dash:[],
edgeDash:[]},removed:{sign:"−",dash:[6,4],edgeDash:[6,4]},changed:{sign:"~",dash:[],edgeDash:[9,3,2,3]}},hulls:{match:{sign:"M",line:"matchedLine",fill:"matched",width:1.6,dash:[],hatch:false},winner:{
sign:"W",line:"matchedLine",fill:"matched",width:2.6,dash:[],hatch:false},lost:{sign:"L",line:"lost",fill:"lostFill",width:1.6,dash:[8,4],hatch:true},"near-miss":{sign:"?",line:"nearMiss",fill:"nearMi\
ssFill",width:2,dash:[2,4],hatch:false}},tones:{faster:{sign:"▼",words:"faster"},slower:{sign:"▲",words:"slower"},noise:{sign:"≈",words:"within the noise"}}};var text=(value,otherwise="")=>typeof value==="string"?value:value==null?otherwise:String(value);var number=(value,otherwise=0)=>typeof value==="number"&&Number.isFinite(value)?value:otherwise;var numberOrNull=value=>typeof value===
"number"&&Number.isFinite(value)?value:null;var list=value=>Array.isArray(value)?value:[];var texts=value=>list(value).map(item=>text(item));var record=value=>value&&typeof value==="object"&&!Array.isArray(
value)?value:{};function asDict(value){if(value instanceof Map)return Object.fromEntries(value);if(typeof value==="string")return value.trim()?record(JSON.parse(value)):{};return record(value)}function asList(value){
if(typeof value==="string")return value.trim()?list(JSON.parse(value)):[];return list(value)}function asFloats(value){if(value==null||typeof value==="string")return new Float32Array(0);if(value instanceof
Float32Array)return value;const buffer=ArrayBuffer.isView(value)?value.buffer:value;const start=ArrayBuffer.isView(value)?value.byteOffset:0;const length=value.byteLength||0;return new Float32Array(buffer.
slice(start,start+length-length%4))}var TABLES={light:theme_default.light,dark:theme_default.dark,forced:theme_default.forced};var palettes=new Map;function paletteOf(theme,forced){const key=`${theme} ${forced}`;const known3=palettes.get(
key);if(known3)return known3;const made={theme,forced,...TABLES[forced?"forced":theme]};palettes.set(key,made);return made}var paletteFor=(doc,wish)=>paletteOf(wish==="dark"||wish==="light"?wish:hostTheme(
doc),matchesMedia("(forced-colors: active)"));function applyPalette(root,{theme,roles},prefix){root.setAttribute("data-theme",theme);for(const[role,colour]of Object.entries(roles))root.style.setProperty(
`--${prefix}-${role}`,colour);root.style.setProperty("color-scheme",theme)}var matchesMedia=query=>typeof matchMedia==="function"&&matchMedia(query).matches;function hostTheme(doc){for(const element of[
doc.body,doc.documentElement]){if(!element||!element.getAttribute)continue;const lab=element.getAttribute("data-jp-theme-light");if(lab)return lab==="true"?"light":"dark";for(const name2 of["data-them\
e","data-mui-color-scheme","data-bs-theme","data-vscode-theme-kind","theme"]){const value=element.getAttribute(name2)||"";if(/dark/.test(value))return"dark";if(/light/.test(value))return"light"}const classes2=element.
getAttribute("class")||"";if(/(^|\s)(dark|dark-theme|dark-mode)(\s|$)/.test(classes2))return"dark";if(/(^|\s)(light|light-theme|light-mode)(\s|$)/.test(classes2))return"light"}return matchesMedia("(pr\
efers-color-scheme: dark)")?"dark":"light"}var WATCHED=["class","theme","data-theme","data-jp-theme-light","data-mui-color-scheme","data-bs-theme","data-vscode-theme-kind"];function watchTheme(doc,callback){
const closing=[];if(typeof matchMedia==="function"){for(const query of["(prefers-color-scheme: dark)","(forced-colors: active)"]){const media=matchMedia(query);if(!media.addEventListener)continue;media.
addEventListener("change",callback);closing.push(()=>media.removeEventListener("change",callback))}}if(typeof MutationObserver==="function"){const watch=new MutationObserver(callback);const filter={attributes:true,
attributeFilter:WATCHED};for(const element of[doc.documentElement,doc.body])if(element)watch.observe(element,filter);closing.push(()=>watch.disconnect())}return()=>closing.forEach(close=>close())}var CHANGES=theme_default.
changes;var HULLS=theme_default.hulls;var TONES=theme_default.tones;var inkOn=role=>`on${role[0].toUpperCase()}${role.slice(1)}`;var dashes=dash=>dash.join(" ")||null;var heightOf=(value,otherwise="")=>typeof value===
"number"?`${value}px`:text(value,otherwise);var rgb=hex=>[1,3,5].map(at=>parseInt(hex.slice(at,at+2),16));function heat(at){const ramp=list(theme_default.heat);const scaled=Math.min(1,Math.max(0,at))*
(ramp.length-1);const low=Math.min(ramp.length-2,Math.floor(scaled));const[a,b]=[rgb(ramp[low]),rgb(ramp[low+1])];const mixed=a.map((value,channel)=>Math.round(value+(b[channel]-value)*(scaled-low)));
return`#${mixed.map(value=>value.toString(16).padStart(2,"0")).join("")}`}function luminance(hex){const[r,g,b]=rgb(hex).map(value=>{const part=value/255;return part<=.04045?part/12.92:((part+.055)/1.055)**
2.4});return .2126*r+.7152*g+.0722*b}function saveTraits(model,changes){for(const[name2,value]of Object.entries(changes)){const was=model.get(name2);model.set(name2,typeof was==="string"&&typeof value==="object"?JSON.stringify(value):value)}
model.save_changes()}function onChanges(model,readers){const known3=Object.entries(readers);for(const[name2,read]of known3)model.on(`change:${name2}`,read);return()=>known3.forEach(([name2,read])=>model.
off(`change:${name2}`,read))}function onChangesTogether(model,readers){const changed=new Set;let alive=true;const read=()=>{const due=new Set(Object.keys(readers).flatMap(name2=>changed.has(name2)?[readers[name2]]:
[]));changed.clear();if(alive)for(const reader of due)reader()};const notes=Object.keys(readers).map(name2=>{const note=()=>{if(!changed.size)Promise.resolve().then(read);changed.add(name2)};return[name2,
note]});const stop=onChanges(model,Object.fromEntries(notes));return()=>{alive=false;stop()}}var[DRAWER_WIDTH,NARROW]=[760,620];var initialState=palette=>({picture:null,steps:[],step:0,details:null,view:{},options:{},selection:[],found:null,hull:"",hover:"",focus:"",cell:-1,slice:-1,palette,width:900,
roomy:true,camera:{k:1,x:0,y:0},progress:null,playing:false,onlyChanging:true,query:"",stopped:false,showTable:false,showAllRows:false,showHelp:false,showSide:false,closeup:"memory",values:null,run:0,
running:false,showCloseup:true});var isCompact=({options})=>options.compact===true;var isAsking=({options})=>options.asking===true;var isPresenting=({view})=>text(view.slides)!=="";var inspectorKind=state=>text(
state.options.inspector,isCompact(state)?"drawer":"side");var isDrawer=state=>inspectorKind(state)==="drawer"||state.width<DRAWER_WIDTH;var isNarrow=({width})=>width<NARROW;var isUnselected=({picture,
selection})=>picture?.groupBy==="plates"&&!selection.length;var isAwaited=({picture,step,view})=>!picture||picture.step!==step||Boolean(view.mode&&picture.mode!==view.mode);function picturesOf({picture}){
if(!picture)return[];return picture.mode==="side"&&picture.other?[picture,picture.other]:[picture]}var boxOf=({picture},id)=>picture&&id?picture.byId.get(id)||(picture.other?picture.other.byId.get(id):
void 0):void 0;var inspectedBox=state=>boxOf(state,state.selection[state.selection.length-1]||"");var captionOf=state=>state.picture&&!isAsking(state)?state.picture.caption:"";var messageOf=state=>state.
picture&&!isAsking(state)?state.picture.message:"";function closeupOf(state){const{details,selection,options}=state;if(isAsking(state)||options.closeup===false||!details?.closeup)return null;return details.
id&&selection.includes(details.id)?details.closeup:null}function cellValues(state){const shown=state.closeup==="values"&&state.showCloseup&&closeupOf(state);return shown&&state.values?.runs[state.run]?.
cells||null}var marksOf=state=>({selected:new Set(state.selection),found:state.found,hull:state.hull,hover:state.hover,focus:state.focus,cell:state.cell,values:cellValues(state)});var FONT='system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", sans-serif';var MAX_KNOWN=2e4;var pen=null;var known=new Map;function prepareMeasuring(doc){if(pen)return;
const canvas=doc.createElement("canvas");pen=typeof canvas.getContext==="function"?canvas.getContext("2d"):null}function textWidth(words,size,bold=false){const key=`${bold?"b":""}${size} ${words}`;const before=known.
get(key);if(before!==void 0)return before;if(known.size>MAX_KNOWN)known.clear();let width=words.length*size*(bold?.6:.56);if(pen){pen.font=`${bold?"600 ":""}${size}px ${FONT}`;width=pen.measureText(words).
width}known.set(key,width);return width}function clip(words,size,room,bold=false){if(textWidth(words,size,bold)<=room)return words;let[low,high]=[0,words.length];while(low<high){const middle=low+high+
1>>1;if(textWidth(`${words.slice(0,middle)}…`,size,bold)<=room)low=middle;else high=middle-1}return low?`${words.slice(0,low).trimEnd()}…`:""}var[STRIP,COPY,LINES]=[22,14,52];var TITLE=20;var[WIDEST,APART]=[40,14];var nameOf=({prefix,suffix,numbers:numbers4},at)=>`${prefix}${numbers4[at]??at}${suffix}`;function sourceName({sources},at){let left=at;
for(const strip of sources){if(left<strip.count)return nameOf(strip,left);left-=strip.count}return""}var readsOf=({reads,arity},slice)=>reads.slice(slice*arity,(slice+1)*arity);function layStrips(memory,width){
const{sources,own,arity,copy}=memory;const total=sources.reduce((sum,{count})=>sum+count,0);const room=width-APART*Math.max(0,sources.length-1);const span=Math.max(1,own.count*Math.max(1,arity));const unit=Math.
min(WIDEST,room/Math.max(1,total));const each=Math.min(WIDEST,width/span,Math.max(unit,unit*total/span));let x=0;let y=TITLE;const rows=sources.map(strip=>{const row={strip,x,y,unit,gap:gapOf(strip,unit)};
x+=strip.count*unit+APART;return row});if(sources.length)y+=STRIP+LINES;const copies=copy?{x:0,y,unit:each,count:memory.reads.length}:null;if(copies)y+=COPY+LINES/2;const wide=each*Math.max(1,arity);return{
rows,copy:copies,own:{strip:own,x:0,y,unit:wide,gap:gapOf(own,wide)},height:y+STRIP+2}}var gapOf=(strip,unit)=>strip.apart?Math.min(4,unit/4):0;function middleOf({rows},at){let left=at;for(const{strip,
x,unit}of rows){if(left<strip.count)return x+(left+.5)*unit;left-=strip.count}return 0}function linesPath({reads,arity},laid,first,end){const step=laid.own.unit/Math.max(1,arity);const target=laid.copy?
laid.copy.y:laid.own.y;let d="";for(let at=first*arity;at<Math.min(end*arity,reads.length);at+=1){const from=middleOf(laid,reads[at]);d+=line(from,laid.rows[0].y+STRIP,laid.own.x+(at+.5)*step,target)}
return d}function line(x1,y1,x2,y2){const[a,b,middle]=[x1.toFixed(1),x2.toFixed(1),((y1+y2)/2).toFixed(1)];return a===b?`M${a} ${y1}V${y2}`:`M${a} ${y1}C${a} ${middle} ${b} ${middle} ${b} ${y2}`}function slicesPath({
strip,x,y,unit,gap},height){if(unit<2.5)return`M${x} ${y}h${(strip.count*unit).toFixed(1)}v${height}H${x}z`;let d="";for(let at=0;at<strip.count;at+=1){const left=(x+at*unit+gap/2).toFixed(1);d+=`M${left}\
 ${y}h${(unit-gap).toFixed(1)}v${height}H${left}z`}return d}var[NAMES,NUMBERED]=[76,17];var MANY_LINES=200;var MAX_ROWS=300;var[TITLE_SIZE,MIN_TITLE]=[12,60];function memoryDrawing({h,s},memory,{roles},width,hover){const laid=layStrips(memory,Math.max(120,width-
NAMES));const{rows,copy,own}=laid;const faint=memory.reads.length>MANY_LINES?.45:.9;const colour=roles[memory.line]||roles.edge;const lines=rows.length?linesPath(memory,laid,0,own.strip.count):"";const lit=s(
"path",{fill:"none",stroke:roles.fg,"stroke-width":2.4});const frame=s("rect",{y:own.y-1.5,height:STRIP+3,fill:"none",stroke:roles.fg,"stroke-width":2.4});frame.setAttribute("visibility","hidden");const svg=s(
"svg",{class:"ce-strips",width,height:laid.height,role:"img","aria-label":memory.sentence},s("g",{transform:`translate(${NAMES} 0)`},rows.flatMap(row=>[titleElement(s,row,roles),...stripElements(s,row,
roles)]),s("path",{d:lines,fill:"none",stroke:colour,"stroke-width":1.3,opacity:faint,class:"ce-reads"}),copy?copyElements(s,laid,roles):[],stripElements(s,own,roles),lit,frame),[rows.length?name(s,rows[0].
y,STRIP,"in memory",roles.muted):null,copy?name(s,copy.y,COPY,"copy",roles.copyLine):null,name(s,own.y,STRIP,own.strip.apart?"outputs":"slices",roles.muted)]);const words=h("p",{class:"ce-closeup-word\
s"});const sentence=[own.strip.title,memory.copy,memory.cut].filter(Boolean).join(" · ");function sliceAt(event){const at=Math.floor((event.clientX-svg.getBoundingClientRect().left-NAMES)/own.unit);return at>=
0&&at<own.strip.count?at:-1}svg.addEventListener("pointermove",event=>hover(sliceAt(event)));svg.addEventListener("pointerleave",()=>hover(-1));function light(slice){const on=slice>=0&&slice<own.strip.
count;lit.setAttribute("d",on&&rows.length?linesPath(memory,laid,slice,slice+1):"");frame.setAttribute("visibility",on?"visible":"hidden");frame.setAttribute("x",String(own.x+slice*own.unit));frame.setAttribute(
"width",String(Math.max(1,own.unit)));const inputs=on?readsOf(memory,slice).map(at=>sourceName(memory,at)):[];words.textContent=on?`${nameOf(own.strip,slice)} reads ${inputs.join(", ")}`:sentence}light(
-1);return{element:h("div",{},svg,words),light}}var name=(s,y,height,text2,fill)=>s("text",{x:NAMES-10,y:y+height/2,"text-anchor":"end","dominant-baseline":"central",fill,text:text2});function titleElement(s,{
strip,x,y,unit},roles){const room=Math.max(strip.count*unit,MIN_TITLE);return s("text",{x,y:y-6,fill:roles.muted,text:clip(strip.title,TITLE_SIZE,room)})}function stripElements(s,row,roles){const{strip,
x,y,unit}=row;const line2=strip.apart?roles.kept:roles.ground;const look={fill:roles[strip.kind]||roles.operator,stroke:line2,"stroke-width":unit>6?1:0};const parts=[s("path",{d:slicesPath(row,STRIP),
...look})];if(!strip.apart){const size={x,y,width:strip.count*unit,height:STRIP};parts.push(s("rect",{...size,fill:"none",stroke:roles.fg,"stroke-width":1.6}))}if(unit>=NUMBERED){for(let at=0;at<strip.
count;at+=1){const middle={x:x+(at+.5)*unit,y:y+STRIP/2,"text-anchor":"middle"};const text2=String(strip.numbers[at]??at);parts.push(s("text",{...middle,"dominant-baseline":"central",fill:roles.onCell,
text:text2}))}}return parts}function copyElements(s,{copy,own},roles){if(!copy)return[];const{x,y,unit,count}=copy;const shape={count,apart:false};const strip={strip:shape,x,y,unit,gap:0};const width=unit>
5?1.2:0;const look={fill:roles.copyFill,stroke:roles.copyLine,"stroke-width":width};let down="";for(let at=0;unit>3&&at<count;at+=1){down+=`M${(x+(at+.5)*unit).toFixed(1)} ${y+COPY}V${own.y}`}return[s(
"path",{d:down,stroke:roles.edge,"stroke-width":1,opacity:.6}),s("path",{d:slicesPath(strip,COPY),...look}),s("rect",{x,y,width:unit*count,height:COPY,fill:"none",stroke:roles.copyLine,"stroke-width":1.6})]}
function memoryTable(h,memory){const{arity,reads,own}=memory;const inputs=Array.from({length:arity},(_,at)=>arity>1?`input ${at+1}`:"input");const count=Math.min(MAX_ROWS,arity?Math.floor(reads.length/
arity):own.count);const rows=Array.from({length:count},(_,slice)=>[nameOf(own,slice),...readsOf(memory,slice).map(at=>sourceName(memory,at))]);const head2=[own.apart?"layer":"slice",...inputs].map(text2=>h(
"th",{scope:"col",text:text2}));return h("div",{class:"ce-closeup-table",tabindex:"0",role:"region","aria-label":"Index table"},h("table",{},h("thead",{},h("tr",{},head2)),h("tbody",{},rows.map(row=>h(
"tr",{},row.map(text2=>h("td",{text:text2})))))),count<own.count?h("p",{text:`The first ${count} of ${own.count.toLocaleString("en-US")} slices.`}):null)}var SIDE=132;var ARROWS={ArrowLeft:[-1,0],ArrowRight:[1,0],ArrowUp:[0,-1],ArrowDown:[0,1]};function drawImage(canvas,x,[channels,height,width],most,side){const scale2=Math.max(1,Math.floor(side/Math.max(
width,height)));canvas.width=width*scale2;canvas.height=height*scale2;const pen2=typeof canvas.getContext==="function"?canvas.getContext("2d"):null;if(!pen2)return;const size=width*height;for(let at=0;at<
size;at+=1){let sum=0;for(let channel=0;channel<channels;channel+=1)sum+=x[channel*size+at]||0;const shade=Math.round(255*(1-Math.min(1,Math.max(0,sum/(channels*(most||1))))));pen2.fillStyle=`rgb(${shade}\
 ${shade} ${shade})`;pen2.fillRect(at%width*scale2,Math.floor(at/width)*scale2,scale2,scale2)}}function paintPad({h,guard,announce},start,shape,most,done){const[channels,height,width]=shape;const size=width*
height;const x=[...start];let ink=most;let stroke=false;let cursor=[Math.floor(width/2),Math.floor(height/2)];const label="Paint: drag, or arrow keys and space";const canvas=h("canvas",{class:"ce-pad",
tabindex:"0",role:"application","aria-label":label,title:label});const redraw=()=>{drawImage(canvas,x,shape,most,SIDE);const pen2=typeof canvas.getContext==="function"?canvas.getContext("2d"):null;const scale2=canvas.
width/width;if(!pen2||!canvas.matches?.(":focus-visible"))return;pen2.strokeStyle="#e69f00";pen2.lineWidth=2;pen2.strokeRect(cursor[0]*scale2+1,cursor[1]*scale2+1,scale2-2,scale2-2)};const isInked=at=>x[at]>=
most/2;function put(column,row){if(column<0||row<0||column>=width||row>=height)return;for(let channel=0;channel<channels;channel+=1)x[channel*size+row*width+column]=ink;redraw()}function pixel(event){
const rect=canvas.getBoundingClientRect();const column=Math.floor((event.clientX-rect.left)/rect.width*width);return[column,Math.floor((event.clientY-rect.top)/rect.height*height)]}const on=(type,action)=>canvas.
addEventListener(type,guard(action));on("pointerdown",event=>{const[column,row]=pixel(event);ink=isInked(row*width+column)?0:most;stroke=true;canvas.setPointerCapture?.(event.pointerId);put(column,row)});
on("pointermove",event=>{const[column,row]=pixel(event);if(stroke)put(column,row)});on("pointerup",()=>{if(stroke)done(x);stroke=false});on("keydown",event=>{const by=ARROWS[event.key];if(!by&&event.key!==
" ")return;event.preventDefault();event.stopPropagation();if(by){cursor=[Math.min(width-1,Math.max(0,cursor[0]+by[0])),Math.min(height-1,Math.max(0,cursor[1]+by[1]))];announce(`row ${cursor[1]+1}, col\
umn ${cursor[0]+1}`);return redraw()}ink=isInked(cursor[1]*width+cursor[0])?0:most;put(cursor[0],cursor[1]);done(x)});on("focus",redraw);on("blur",redraw);redraw();return canvas}function readValues(value){const raw=asDict(value);if(!Object.keys(raw).length)return null;return{missing:text(raw.missing),image:numbers(raw.image),most:number(raw.most,1),paints:raw.paints===true,runs:list(
raw.runs).map(run=>readRun(record(run))),steps:list(raw.steps).map(texts),scale:texts(raw.scale),note:text(raw.note)}}var numbers=value=>list(value).map(item=>number(item));var readRun=value=>({label:text(
value.label),x:numbers(value.x),outputs:Object.fromEntries(Object.entries(record(value.outputs)).map(([step,output])=>[step,text(output)])),same:text(value.same),cells:new Map(Object.entries(record(value.
cells)).map(([cell,pair])=>[cell,numbers(pair)]))});function valueOf(cells,box,index){const layer=box.plate?.cells[index]??-1;return cells.get(layer>=0?String(layer):`${box.ids[0]}/${index}`)}var THUMBNAIL=40;var STOPS=8;function valuesPanel(ui,state,actions){const{h,textButton}=ui;const{values,running}=state;if(!values||values.missing||!values.runs.length){const words=values?.missing||(running?
"Running the inputs …":"The values are not in this page.");const again=!values&&!running&&textButton("Run inputs",actions.ask);return{element:h("div",{},h("p",{text:words}),again),light(){}}}const run=values.
runs[state.run]||values.runs[0];const cell=h("p",{class:"ce-closeup-words"});const element=h("div",{class:"ce-values"},h("div",{class:"ce-values-inputs"},inputButtons(ui,values,run,actions),ownInput(ui,
values,run,actions)),h("div",{class:"ce-values-outputs"},h("p",{class:"ce-values-same",text:running?"Running the input …":run.same}),outputTable(h,values,run,state.step),scale(h,values),cell,values.
note?h("p",{class:"ce-values-note",text:values.note}):null));function light(){const box=state.picture?.byId.get(state.hover);const value=box&&state.cell>=0?valueOf(run.cells,box,state.cell):void 0;const layer=box?.
plate?.cells[state.cell]??-1;const name2=layer>=0?`#${layer}`:`slice ${state.cell}`;cell.textContent=value?`Log-likelihood of ${box?.title} ${name2}: ${value[0].toPrecision(5).replace("-","−")}`:""}
light();return{element,light}}function inputButtons({h,guard},values,run,actions){const buttons=values.runs.map((one,at)=>{const thumbnail=values.image.length?h("canvas",{"aria-hidden":"true"}):null;if(thumbnail)
drawImage(thumbnail,one.x,values.image,values.most,THUMBNAIL);return h("button",{type:"button",class:"ce-values-input","aria-pressed":String(one===run),title:values.image.length?one.label:`${one.label}\
: ${one.x.join(", ")}`,onclick:guard(()=>actions.pick(at))},thumbnail,h("span",{text:one.label}))});return h("div",{class:"ce-values-pick",role:"group","aria-label":"Inputs"},buttons)}function ownInput(ui,values,run,actions){
const{h,guard,textButton}=ui;if(!values.paints)return null;if(values.image.length){const pad=paintPad(ui,run.x,values.image,values.most,actions.runOwn);const clear=textButton("Clear",()=>actions.runOwn(
run.x.map(()=>0)));return h("div",{class:"ce-values-own"},pad,clear)}const line2=h("input",{type:"text",value:run.x.join(", "),"aria-label":"Your own row: a number per variable"});const send=()=>actions.
runOwn(String(line2.value).split(/[\s,;]+/).filter(Boolean).map(Number));line2.addEventListener("keydown",guard(event=>{event.stopPropagation();if(event.key==="Enter")send()}));return h("div",{class:"\
ce-values-own"},line2,textButton("Run",send))}function outputTable(h,{steps},run,step){const ran=steps.filter(([number2])=>number2 in run.outputs);const current=ran.reduce((last,[number2])=>Number(number2)<=
step?number2:last,"");const columns=ran.map(([number2,name2])=>h("span",{class:"ce-values-output","aria-current":number2===current?"step":null},h("span",{text:name2}),h("b",{text:run.outputs[number2]})));
return h("div",{class:"ce-values-steps"},columns)}function scale(h,{scale:[low,high,what]}){const stops=Array.from({length:STOPS},(_,at)=>heat(at/(STOPS-1))).join(",");return h("div",{class:"ce-values\
-scale"},h("span",{text:low.replace("-","−")}),h("i",{style:`background:linear-gradient(90deg,${stops})`}),h("span",{text:`${high.replace("-","−")} ${what}`}))}var STYLE=`
.ce-values{display:flex;flex-wrap:wrap;gap:10px 24px;align-items:flex-start;margin-top:6px}
.ce-values-inputs{display:flex;gap:12px;align-items:flex-start}
.ce-values-pick{display:grid;grid-template-columns:repeat(3,auto);gap:6px}
.ce-root button.ce-values-input{flex-direction:column;height:auto;padding:4px 6px;gap:2px}
.ce-values-own{display:flex;flex-direction:column;gap:6px;align-items:flex-start}
.ce-values-own input{width:min(320px,60vw);font:inherit;padding:4px 6px;color:inherit;background:var(--ce-ground);border:1px solid var(--ce-control);border-radius:6px}
.ce-pad{border:1px solid var(--ce-control);cursor:crosshair;touch-action:none}
.ce-values-outputs{flex:1 1 340px;min-width:0}
.ce-values-same{margin:0 0 4px;font-size:15px;font-weight:600}
.ce-values-steps{display:flex;flex-wrap:wrap;gap:2px 14px}
.ce-values-output{display:inline-flex;flex-direction:column;padding:2px 4px;border-bottom:3px solid transparent;font-size:12.5px}
.ce-values-output span{color:var(--ce-muted)}
.ce-values-output b{font-variant-numeric:tabular-nums}
.ce-values-output[aria-current]{border-bottom-color:var(--ce-accent)}
.ce-values-scale{display:flex;align-items:center;gap:8px;margin-top:6px;font-size:12.5px}
.ce-values-scale i{width:120px;height:12px;border:1px solid var(--ce-line)}
.ce-values-note{margin:4px 0 0;color:var(--ce-muted);font-size:12.5px}
`;var MARGIN=26;var POINTED=new Set(["hover","cell","slice"]);var PARTS=[{name:"memory",words:"Memory"},{name:"table",words:"Index table"},{name:"values",words:"Values"}];function makeCloseup(ui,{state},actions){
const{make,h,button,textButton,guard}=ui;const title=h("h2");const choices=h("div",{class:"ce-group",role:"group","aria-label":"Parts of the close-up"});const sentence=h("p",{class:"ce-closeup-sentenc\
e"});const body=h("div",{class:"ce-closeup-body"});const toggle=button("Show the close-up","panel",actions.toggle);const bar=h("div",{class:"ce-closeup-bar"},title,choices,sentence,toggle);const element=h(
"section",{class:"ce-closeup","aria-label":"Close-up",hidden:true},bar,body);let light=()=>{};function lit(){const box=inspectedBox(state)?.id;return state.hover&&state.hover===box&&state.cell>=0?state.
cell:state.slice}function drawMemory(memory){const width=(element.clientWidth||state.width)-MARGIN;const hover=guard(slice=>actions.point(inspectedBox(state)?.id??"",slice));const drawing=memoryDrawing(
make,memory,state.palette,width,hover);light=()=>drawing.light(lit());light();body.replaceChildren(drawing.element)}function drawValues(){const panel=valuesPanel(ui,state,actions);light=panel.light;body.
replaceChildren(panel.element)}function drawBody({memory}){light=()=>{};sentence.textContent=state.closeup==="values"?"":memory?.sentence||"";if(state.closeup==="values")drawValues();else if(!memory)body.
replaceChildren();else if(state.closeup==="table")body.replaceChildren(memoryTable(h,memory));else drawMemory(memory)}return{element,reads:["details","selection","options","palette","width","hover","c\
ell","slice","step","closeup","showCloseup","values","run","running"],draw(_,changed){if([...changed].every(name2=>POINTED.has(name2)))return light();const closeup=closeupOf(state);element.hidden=!closeup;
if(!closeup)return void 0;const open=state.showCloseup;title.textContent=closeup.title;toggle.setAttribute("aria-expanded",String(open));body.hidden=sentence.hidden=!open;const choice=({name:name2,words})=>textButton(
words,()=>actions.choose(name2),{"aria-pressed":String(open&&state.closeup===name2)});choices.replaceChildren(...PARTS.map(choice));return drawBody(closeup)}}}var STYLE2=`
.ce-closeup{flex:none;max-height:46vh;overflow:auto;padding:6px 12px 8px;border-top:2px solid var(--ce-accent);background:var(--ce-panel)}
.ce-closeup-bar{display:flex;flex-wrap:wrap;align-items:center;gap:4px 12px}
.ce-closeup h2{font-size:14px;font-weight:650;margin:0;color:inherit}
.ce-closeup-sentence{flex:1;min-width:200px;margin:0;font-size:13px}
.ce-closeup-bar>button{margin-left:auto}
.ce-strips{display:block;font:12px system-ui,sans-serif}
.ce-closeup-words{margin:4px 0 0;min-height:1.4em;font-size:13px;overflow-wrap:anywhere}
.ce-closeup-table{max-height:200px;overflow:auto;margin-top:6px}
.ce-closeup-table table{border-collapse:collapse;font-size:12.5px;font-variant-numeric:tabular-nums}
.ce-closeup-table :is(th,td){text-align:left;padding:2px 16px 2px 0;border-bottom:1px solid var(--ce-line)}
${STYLE}`;var short=value=>String(Math.round(value*10)/10);function boxPath(kind,w,h){const[l,t,r,b]=[-w/2,-h/2,w/2,h/2];if(kind==="product"){const c=Math.min(10,h/4);return`M${l+c} ${t}H${r-c}L${r} ${t+c}V${b-
c}L${r-c} ${b}H${l+c}L${l} ${b-c}V${t+c}Z`}const radius=Math.min(w/2,kind==="input"||kind==="leaf"?h/2:kind==="operator"?2:8);const arc=`a${radius} ${radius} 0 0 1 `;return`M${l+radius} ${t}H${r-radius}${arc}${radius}\
 ${radius}V${b-radius}${arc}${-radius} ${radius}H${l+radius}${arc}${-radius} ${-radius}V${t+radius}${arc}${radius} ${-radius}Z`}var SYMBOLS={input:"M2 12.5c3.2 0 3-9 6-9s2.8 9 6 9",sum:"M8 3v10M3 8h10",
product:"M4.2 4.2l7.600 7.600M11.8 4.2l-7.600 7.600",fused:"M3 3l5 5.5L13 3M8 8.5v5",operator:"M11.5 3.200c-3.200-1-4 1-4 4.300s-.2 6.5-3.800 5.300M4.800 7.5h5.400",leaf:"M8 5.2a2.8 2.8 0 1 0 .01 0z"};
var symbolOf=kind=>SYMBOLS[kind]||SYMBOLS.operator;var isKind=role=>role in SYMBOLS;var symbolCentre=box=>-box.w/2+(box.kind==="input"||box.kind==="leaf"?19:16);var STACK=[8,4];var rise=box=>box.folds>
1?STACK[0]:0;var around=(box,pad)=>({l:box.x-box.w/2-pad,t:box.y-box.h/2-pad-rise(box),r:box.x+box.w/2+pad+rise(box),b:box.y+box.h/2+pad});var meets=(a,b)=>a.l<b.r&&b.l<a.r&&a.t<b.b&&b.t<a.b;var frameOf=callback=>typeof requestAnimationFrame==="function"?requestAnimationFrame(callback):setTimeout(callback,16);var unframe=handle=>typeof cancelAnimationFrame==="function"?cancelAnimationFrame(
handle):clearTimeout(handle);var clock=()=>typeof performance==="object"?performance.now():Date.now();var ease=t=>t<.5?4*t*t*t:1-(2-2*t)**3/2;function makeTimers(guard){const running=new Map;const cancel=name2=>clearTimeout(
running.get(name2));return{cancel,after(name2,ms,action,trait){cancel(name2);running.set(name2,setTimeout(guard(action,trait),ms))},close:()=>[...running.keys()].forEach(cancel)}}var MARGIN2=24;var[NARROW2,ZOOM_WIDTH]=[640,44];var MIN_SCALE=.005;var LEGIBLE=.4;var LEGIBLE_PLATES=.45;var[MANY,MANY_SCALE]=[80,.12];function showing(rect,{width,height,panes,inset,maxFit}){const right=width*
panes<NARROW2?ZOOM_WIDTH:0;const across=(width-right-28)/Math.max(1,rect.r-rect.l);const down=(height-inset-20)/Math.max(1,rect.b-rect.t);const k=Math.max(MIN_SCALE,Math.min(across,down,maxFit));return{
k,x:(rect.l+rect.r)/2+right/2/k,y:(rect.t+rect.b)/2-inset/2/k}}var unionOf=rects=>({l:Math.min(...rects.map(rect=>rect.l)),t:Math.min(...rects.map(rect=>rect.t)),r:Math.max(...rects.map(rect=>rect.r)),
b:Math.max(...rects.map(rect=>rect.b))});function extentOf(pictures){const[r,b]=[Math.max(1,...pictures.map(item=>item.width)),Math.max(1,...pictures.map(item=>item.height))];const boxes=pictures.flatMap(
item=>item.boxes);if(!boxes.length)return{l:0,t:0,r,b};const l=boxes.reduce((least,box)=>Math.min(least,box.x-box.w/2),Infinity);const t=boxes.reduce((least,box)=>Math.min(least,box.y-box.h/2),Infinity);
return{l:Math.max(0,l-MARGIN2),t:Math.max(0,t-MARGIN2),r,b}}var whole=(pictures,viewport)=>showing(extentOf(pictures),viewport);function automatic(pictures,viewport,asking){const room=pictures[0]?.groupBy===
"plates"?{...viewport,width:viewport.width-ZOOM_WIDTH}:viewport;const all=aside(whole(pictures,room),viewport,room);if(pictures[0]?.groupBy==="plates")return legible(all,pictures,viewport);if(!pictures.
length||all.k>=LEGIBLE)return all;const[picture]=pictures;const many=picture.boxes.length>MANY;if(many?all.k>MANY_SCALE:asking)return all;const seen=extentOf(pictures);const{width,height}=viewport;const flat=Math.
min(.45,Math.max(all.k,MANY_SCALE,(height-40)/(seen.b-seen.t)));const k=many?flat:Math.min(.62,Math.max(all.k,.5));const news=many?[]:picture.boxes.filter(box=>box.matched||box.change!=="kept");const rect=unionOf(
(news.length?news:picture.boxes).map(box=>around(box,12)));const left=rect.r-rect.l>width/k&&!many;const x=left?rect.l+width/k/2:(rect.l+rect.r)/2;const y=rect.b-rect.t>height/k?rect.b-height/k/2:(rect.
t+rect.b)/2;return{k,x:within(x,width/k/2,seen.l,seen.r),y:within(y,height/k/2,seen.t,seen.b)}}var aside=({k,x,y},all,part)=>({k,x:x+(all.width-part.width)/2/k,y});function legible(all,pictures,{width,
height,inset}){if(all.k>=LEGIBLE_PLATES)return all;const{l,t,r}=extentOf(pictures);const k=Math.max(all.k,Math.min(LEGIBLE_PLATES,width/(r-l+28)));return{k,x:(l+r)/2,y:t+(height-inset)/2/k-(inset+10)/
k}}var within=(middle,half,from,to)=>2*half>=to-from+28?(from+to)/2:Math.min(to+14-half,Math.max(from+half-14,middle));function revealing(box,camera,{width,height}){const k=camera.k<.36?.7:camera.k;const[
reachX,reachY]=[width/2/k-box.w/2-30,height/2/k-box.h/2-30];const[farX,farY]=[Math.abs(box.x-camera.x)>reachX,Math.abs(box.y-camera.y)>reachY];const zoomed=k!==camera.k;if(!zoomed&&!farX&&!farY)return null;
return{k,x:farX||zoomed?box.x:camera.x,y:farY||zoomed?box.y:camera.y}}var between=(start,target,e)=>({k:start.k*(target.k/start.k)**e,x:start.x+(target.x-start.x)*e,y:start.y+(target.y-start.y)*e});function zoomedTo(camera,k,at,{
width,height}){const[dx,dy]=[at.x-width/2,at.y-height/2];return{k,x:camera.x+dx/camera.k-dx/k,y:camera.y+dy/camera.k-dy/k}}var pointOf=(camera,at,{width,height})=>({x:camera.x+(at.x-width/2)/camera.k,
y:camera.y+(at.y-height/2)/camera.k});function boxAt({boxes},camera,at,viewport){const{x,y}=pointOf(camera,at,viewport);const slack=Math.min(12,2/camera.k);for(let index=boxes.length-1;index>=0;index-=
1){const box=boxes[index];if(Math.abs(x-box.x)<=box.w/2+slack&&Math.abs(y-box.y)<=box.h/2+slack)return box}return null}var SAVE_MS=400;var[MIN_ZOOM,MAX_ZOOM]=[.01,4];var FOCUS_PAD=60;var rounded=value=>Math.round(value*1e3)/1e3;function makeCamera({guard,timers},store,{setView},stage,root){const{state}=store;let auto=true;
let focused=false;let moving=0;const wholeView=()=>whole(picturesOf(state),stage.viewport());const automaticView=()=>automatic(picturesOf(state),stage.viewport(),isAsking(state));function stop(){if(moving)
unframe(moving);moving=0}function moveTo(camera){auto=false;store.set({camera});timers.after("zoom",SAVE_MS,()=>{const{k,x,y}=state.camera;setView({zoom:{k:rounded(k),x:rounded(x),y:rounded(y)}})})}function jumpTo(camera){
stop();stage.frame(1);moveTo(camera)}function zoom(by,at){const viewport=stage.viewport();const k=Math.min(MAX_ZOOM,Math.max(Math.min(MIN_ZOOM,wholeView().k),state.camera.k*by));jumpTo(zoomedTo(state.
camera,k,at||{x:viewport.width/2,y:viewport.height/2},viewport))}function fit(){focused=false;store.set({camera:wholeView()});auto=true;timers.cancel("zoom");setView({zoom:null})}function focusOrFit(){
const boxes=state.selection.flatMap(id=>boxOf(state,id)??[]);if(focused||!boxes.length){fit();return}focused=true;moveTo(showing(unionOf(boxes.map(box=>around(box,FOCUS_PAD))),stage.viewport()))}function animate(before){
const start=state.camera;const target=auto?automaticView():start;stop();const still=!before||!state.picture||state.options.animate===false||matchesMedia("(prefers-reduced-motion: reduce)");const at=t=>{
stage.frame(t);store.set({camera:t>=1?auto?automaticView():target:between(start,target,ease(stage.progress(t)))})};if(still){at(1);return}const lasts=stage.lasts();const began=clock();const next=guard(
()=>{const t=Math.min(1,(clock()-began)/lasts);at(t);moving=t<1?frameOf(next):0;root.setAttribute("data-moving",String(t<1))});at(0);root.setAttribute("data-moving","true");moving=frameOf(next);timers.
after("arrive",lasts+200,()=>{if(!moving)return;stop();at(1);root.setAttribute("data-moving","false")})}return{stop,moveTo,jumpTo,zoom,fit,focusOrFit,animate,whole:wholeView,reveal(box){const camera=box&&
revealing(box,state.camera,stage.viewport());if(camera)moveTo(camera)},forgetFocus(){focused=false},restore({k,x,y}){auto=false;store.set({camera:{k:number(k,1),x:number(x),y:number(y)}})},settle(){if(!state.
picture)return;if(auto&&!moving)store.set({camera:automaticView()});stage.look()}}}function makeClosingUp(store,{request,setView}){const{state}=store;function ask(){store.set({running:true});request("values")}return{ask,choose(part){store.set({closeup:part,showCloseup:true});if(part===
"values"&&!state.values&&!state.running)ask()},pick(run){store.set({run})},runOwn(painted){const count=state.values?.runs[0]?.x.length??0;if(painted.length!==count||!painted.every(Number.isFinite)){throw new Error(
`expected ${count} numbers, one for each variable; got ${painted.length}`)}setView({painted});ask()},receive(value){const values=readValues(value);const count=values?.runs.length??0;if(!values&&state.
view.painted)setView({painted:null});const grew=state.running&&Boolean(state.view.painted);store.set({values,running:false,run:grew?count-1:Math.min(state.run,Math.max(0,count-1))})},toggle(){store.set(
{showCloseup:!state.showCloseup})},point(box,slice){store.set({hover:slice<0?"":text(box),cell:slice})}}}var escaped=words=>words.replace(/[&<>"]/g,sign=>`&#${sign.charCodeAt(0)};`);var ANCHORS={left:"start",center:"middle",right:"end"};function svgPen(){const elements=[];let path="";let[atX,atY]=[0,0];let dash=[];
let transform="";const add=(command,...numbers4)=>{path+=command+numbers4.map(short).join(" ");[atX,atY]=numbers4.slice(-2)};const alpha=()=>pen2.globalAlpha<1?` opacity="${short(pen2.globalAlpha)}"`:
"";const strokeOf=d=>{const dashes2=dash.length?` stroke-dasharray="${dash.join(" ")}"`:"";const line2=` stroke="${pen2.strokeStyle}" stroke-width="${short(pen2.lineWidth)}"${dashes2}`;elements.push(`\
<path fill="none"${line2}${alpha()} d="${d}"/>`)};const fillOf2=d=>elements.push(`<path fill="${pen2.fillStyle}"${alpha()} d="${d}"/>`);const rectangle=(x,y,w,h)=>`M${short(x)} ${short(y)}h${short(w)}\
v${short(h)}h${short(-w)}z`;const pen2={fillStyle:"#000",strokeStyle:"#000",lineWidth:1,globalAlpha:1,font:"",textAlign:"left",textBaseline:"",beginPath(){path=""},moveTo:(x,y)=>add("M",x,y),lineTo:(x,y)=>add(
"L",x,y),bezierCurveTo:(...numbers4)=>add("C",...numbers4),arcTo(x,y,toX,toY,radius){const[before,after]=[Math.hypot(x-atX,y-atY)||1,Math.hypot(toX-x,toY-y)||1];const size=Math.min(radius,before,after);
add("L",x+(atX-x)*size/before,y+(atY-y)*size/before);add("Q",x,y,x+(toX-x)*size/after,y+(toY-y)*size/after)},rect(x,y,w,h){path+=rectangle(x,y,w,h)},roundRect(x,y,w,h,r){const[across,down]=[w-2*r,h-2*
r].map(short);const[round,back]=[short(r),short(-r)];path+=`M${short(x+r)} ${short(y)}h${across}q${round} 0 ${round} ${round}v${down}q0 ${round} ${back} ${round}h-${across}q${back} 0 ${back} ${back}v-${down}\
q0 ${back} ${round} ${back}z`},fill:()=>void(path&&fillOf2(path)),stroke:()=>void(path&&strokeOf(path)),fillRect:(x,y,w,h)=>void fillOf2(rectangle(x,y,w,h)),strokeRect:(x,y,w,h)=>strokeOf(rectangle(x,
y,w,h)),fillText(words,x,y){const size=parseFloat(pen2.font.replace(/^\d+ (?=\d)/,""))||12;const anchor=ANCHORS[pen2.textAlign]||"start";const line2=pen2.textBaseline==="middle"?y+.36*size:y;const place=`\
x="${short(x)}" y="${short(line2)}" font-size="${short(size)}" text-anchor="${anchor}"`;elements.push(`<text ${place} fill="${pen2.fillStyle}"${alpha()}>${escaped(words)}</text>`)},setLineDash(lengths){
dash=lengths},setTransform(k,_b,_c,_d,x,y){transform=`translate(${short(x)} ${short(y)}) scale(${Math.round(k*1e4)/1e4})`},element:()=>`<g transform="${transform}">${elements.join("")}</g>`};return pen2}function curve(points,run){const at=(x,y)=>`${short(x)} ${short(y)}`;let d=`M${at(points[0].x,points[0].y)}`;for(let index=1;index<points.length;index+=1){const[p,q]=[points[index-1],points[index]];if(p.
side||q.side){const[corner,r]=[p.side?{x:q.x,y:p.y}:{x:p.x,y:q.y},8];const from=p.side?{x:corner.x-Math.sign(q.x-p.x)*r,y:p.y}:{x:p.x,y:corner.y-Math.sign(q.y-p.y)*r};const to=p.side?{x:q.x,y:corner.y+
Math.sign(q.y-p.y)*r}:{x:corner.x+Math.sign(q.x-p.x)*r,y:q.y};d+=`L${at(from.x,from.y)}Q${at(corner.x,corner.y)} ${at(to.x,to.y)}L${at(q.x,q.y)}`;continue}const straight=Math.abs(run==="v"?p.x-q.x:p.y-
q.y)<.5;const[a,b]=run==="v"?[at(p.x,(p.y+q.y)/2),at(q.x,(p.y+q.y)/2)]:[at((p.x+q.x)/2,p.y),at((p.x+q.x)/2,q.y)];d+=straight?`L${at(q.x,q.y)}`:`C${a} ${b} ${at(q.x,q.y)}`}return d}function head(points,run){
const[before,tip]=[points[points.length-2],points[points.length-1]];const level=run==="h"||tip.side;const s=Math.sign(level?tip.x-before.x:tip.y-before.y)||1;return`M${short(tip.x)} ${short(tip.y)}${level?
`l${-7*s} -4v8Z`:`l-4 ${-7*s}h8Z`}`}function along(edge,t){const parts=edge.points.length-1;const part=Math.min(parts-1,Math.floor(t*parts));const u=t*parts-part;const[p,q]=[edge.points[part],edge.points[part+
1]];const smooth=3*u*u*(1-u)+u*u*u;const even=1.5*u*(1-u)*(1-u)+1.5*u*u*(1-u)+u*u*u;return edge.run==="v"?{x:p.x+(q.x-p.x)*smooth,y:p.y+(q.y-p.y)*even}:{x:p.x+(q.x-p.x)*even,y:p.y+(q.y-p.y)*smooth}}function startOf(box,from){const was=from.get(box.id);if(was)return{at:was,grown:true};const origins=box.cameFrom.map(id=>from.get(id)).filter(Boolean);if(!origins.length)return{at:{x:box.x,y:box.y},grown:false};
const sum=origins.reduce((total,at)=>({x:total.x+at.x,y:total.y+at.y}),{x:0,y:0});return{at:{x:sum.x/origins.length,y:sum.y/origins.length},grown:false}}function moved(edge,a,b){const last=edge.points.
length-1;return edge.points.map((point,index)=>({...point,x:point.x+a.x+(b.x-a.x)*index/last,y:point.y+a.y+(b.y-a.y)*index/last}))}var MAX_SVG_BOXES=1e3;var MAX_ROUTED_BOXES=400;var MAX_HULLS=60;function cover(boxes,pad){const rects=boxes.map(box=>around(box,pad));if(boxes.length>MAX_HULLS)return rects;const corridors=[];const joined=[0];const open=rects.map((_,index)=>index).slice(1);while(open.
length){let best={gap:Infinity,from:0,to:0,place:0};for(const from of joined){open.forEach((to,place)=>{const[a,b]=[rects[from],rects[to]];const dx=Math.max(0,b.l-a.r,a.l-b.r);const dy=Math.max(0,b.t-
a.b,a.t-b.b);const gap=dy+1.2*dx;if(gap<best.gap)best={gap,from,to,place}})}open.splice(best.place,1);joined.push(best.to);corridors.push(...corridor(rects[best.from],rects[best.to]))}return[...rects,
...corridors]}function corridor(a,b){const half=9;if(meets(a,b))return[];const[up,down]=a.t<b.t?[a,b]:[b,a];if(up.b<down.t){const[l,r]=[Math.max(up.l,down.l),Math.min(up.r,down.r)];if(r-l>=2*half){const[
middle3,width]=[(l+r)/2,Math.min(r-l,44)/2];return[{l:middle3-width,t:up.b-1,r:middle3+width,b:down.t+1}]}const right2=(down.l+down.r)/2>(up.l+up.r)/2;const from=right2?Math.max((up.l+up.r)/2,up.r-30):
Math.min((up.l+up.r)/2,up.l+30);const to=right2?Math.min((down.l+down.r)/2,down.l+30):Math.max((down.l+down.r)/2,down.r-30);const middle2=(up.b+down.t)/2;return[{l:from-half,t:up.b-1,r:from+half,b:middle2+
half},{l:Math.min(from,to)-half,t:middle2-half,r:Math.max(from,to)+half,b:middle2+half},{l:to-half,t:middle2-half,r:to+half,b:down.t+1}]}const[left,right]=a.l<b.l?[a,b]:[b,a];const[t,d]=[Math.max(left.
t,right.t),Math.min(left.b,right.b)];const middle=(t+d)/2;return[{l:left.r-1,t:middle-half,r:right.l+1,b:middle+half}]}function outline(rects,radius=9){const xs=[...new Set(rects.flatMap(rect=>[rect.l,
rect.r]))].sort((a,b)=>a-b);const ys=[...new Set(rects.flatMap(rect=>[rect.t,rect.b]))].sort((a,b)=>a-b);const[columns,lines]=[xs.length-1,ys.length-1];const filled=new Uint8Array(Math.max(0,columns*lines));
for(const rect of rects){const[c0,c1]=[xs.indexOf(rect.l),xs.indexOf(rect.r)];const[r0,r1]=[ys.indexOf(rect.t),ys.indexOf(rect.b)];for(let row=r0;row<r1;row+=1)filled.fill(1,row*columns+c0,row*columns+
c1)}const at=(c,r)=>c>=0&&r>=0&&c<columns&&r<lines&&filled[r*columns+c]===1;const sides=new Map;const side=(c0,r0,c1,r1)=>{const key=`${c0} ${r0}`;const ends=sides.get(key);if(ends)ends.push([c1,r1]);else
sides.set(key,[[c1,r1]])};for(let r=0;r<lines;r+=1){for(let c=0;c<columns;c+=1){if(!at(c,r))continue;if(!at(c,r-1))side(c,r,c+1,r);if(!at(c+1,r))side(c+1,r,c+1,r+1);if(!at(c,r+1))side(c+1,r+1,c,r+1);if(!at(
c-1,r))side(c,r+1,c,r)}}let d="";while(sides.size){const[first]=sides.keys();let[c,r]=first.split(" ").map(Number);const corners=[];for(;;){const key=`${c} ${r}`;const ends=sides.get(key);if(!ends)break;
const next=ends.pop();if(!ends.length)sides.delete(key);corners.push({x:xs[c],y:ys[r]});[c,r]=next}d+=rounded2(corners.filter((corner,index)=>{const[p,q]=[corners[(index+corners.length-1)%corners.length],
corners[(index+1)%corners.length]];return!(p.x===corner.x&&corner.x===q.x||p.y===corner.y&&corner.y===q.y)}),radius)}return d}function rounded2(corners,radius){let d="";corners.forEach((corner,index)=>{
const p=corners[(index+corners.length-1)%corners.length];const q=corners[(index+1)%corners.length];const before=Math.abs(p.x-corner.x)+Math.abs(p.y-corner.y);const after=Math.abs(q.x-corner.x)+Math.abs(
q.y-corner.y);const by=Math.min(radius,before/2,after/2);const from={x:corner.x+Math.sign(p.x-corner.x)*by,y:corner.y+Math.sign(p.y-corner.y)*by};const to={x:corner.x+Math.sign(q.x-corner.x)*by,y:corner.
y+Math.sign(q.y-corner.y)*by};const at=({x,y})=>`${short(x)} ${short(y)}`;d+=`${index?"L":"M"}${at(from)}Q${at(corner)} ${at(to)}`});return`${d}Z`}var CHANGE_WORDS={kept:"kept",added:"added",removed:"removed",changed:"changed"};var HULL_WORDS={match:"match",winner:"winner",lost:"lost","near-miss":"near miss"};var HULL_PLURALS={match:"matches",winner:"\
winners",lost:"lost","near-miss":"near misses"};var HULL_NAMED={match:/\bmatch(es)?\b/,winner:/\b(winner|won)\b/,lost:/\blost\b/,"near-miss":/\bnear miss(es)?\b/};var MODE_WORDS={diff:"Diff",before:"B\
efore",after:"After",side:"Side by side"};var COLOUR_WORDS={change:"change",kind:"kind",time:"time",memory:"memory",fold:"fold"};var GROUP_WORDS={plates:"plates",fold:"level + fold key",none:"none",scope:"\
scope"};function wordsOf(box){const inset=box.kind==="input"||box.kind==="leaf"?6:0;const left=-box.w/2+30+inset;const room=box.w-38-2*inset;const two=box.h>=36&&box.detail!=="";const titled=(size,most)=>box.
numbered?`${clip(box.title,size,most-textWidth(` ${box.numbered}`,size,true),true)} ${box.numbered}`:clip(box.title,size,most,true);return{left,two,title:titled(12.5,room),detail:two?clip(box.detail,11,
room):"",far:titled(18,box.w-34-inset)}}function pillOf(box){if(box.folds>1)return{words:box.count>1?`${box.count} · ×${box.folds}`:`×${box.folds}`,solid:true};return box.count>1?{words:`${box.count}`,
solid:false}:null}function describeBox(box){const many=box.folds>1?`${box.folds} folds`:box.count>1?`${box.count} layers`:"";const parts=[box.title,box.detail,many,`level ${box.level}`,box.change==="k\
ept"?"":CHANGE_WORDS[box.change]];parts.push(box.matched?"matched":"",box.fillText);parts.push(...(box.plate?.times||[]).map(bar=>bar.text),...box.badges.map(badge=>badge.text));return parts.filter(Boolean).
join(", ")}function edgeFacts({source,target,change,count,copied,label}){const read=copied&&label?`${label} copied per example`:label;const many=count>1?`${count} edges`:"";const state=[many,change===
"kept"?"":CHANGE_WORDS[change]].filter(Boolean).join(" · ");return[`${target.title} reads ${source.title}`,read,state].filter(Boolean)}function nameHull(hull){const name2=hull.label||hull.id;const named=HULL_NAMED[hull.
kind];return named&&named.test(`${name2} ${hull.reason}`)?name2:`${name2}, ${HULL_WORDS[hull.kind]||hull.kind}`}function describeHull(hull){const{reason}=hull;if(!reason)return nameHull(hull);if(/^(lost|won)\b/.
test(reason))return`${hull.label||hull.id}, ${reason}`;return`${nameHull(hull)}. ${reason[0].toUpperCase()}${reason.slice(1)}`}function layHulls(picture,words=[]){const depth=new Map;const taken=picture.boxes.length<=MAX_ROUTED_BOXES?picture.boxes.map(box=>around(box,1)):[];taken.push(...words);const tags=picture.hulls.length<=
MAX_HULLS;const signs=new Map(picture.legend.filter(item=>item.channel==="hull").map(item=>[item.role,item.sign]));return picture.hulls.map(hull=>{const level=Math.max(...hull.boxes.map(box=>depth.get(
box.id)||0));for(const box of hull.boxes)depth.set(box.id,level+1);const rects=cover(hull.boxes,8+5*(level%3));const d=outline(rects);if(!tags)return{hull,d,tag:null};const all={l:Math.min(...rects.map(
rect=>rect.l)),t:Math.min(...rects.map(rect=>rect.t)),r:Math.max(...rects.map(rect=>rect.r)),b:Math.max(...rects.map(rect=>rect.b))};const top=rects.reduce((best,rect)=>rect.t<best.t?rect:best);const low=rects.
reduce((best,rect)=>rect.b>best.b?rect:best);const words2=clip(hull.label||HULL_WORDS[hull.kind]||hull.kind,11,260);const width=24+textWidth(words2,11);const places=[[top.l+2,all.t-10],[top.r-width-2,
all.t-10],[low.l+2,all.b-8],[low.r-width-2,all.b-8],[top.l+2,all.t-27],[low.l+2,all.b+9],[all.r-6,(top.t+top.b)/2-9],[all.l-width+6,(top.t+top.b)/2-9]].map(([l,t])=>({l,t,r:l+width,b:t+18}));const at=places.
find(place=>!taken.some(rect=>meets(rect,place)))||places[0];taken.push(at);return{hull,d,tag:{at,words:words2,sign:signs.get(hull.kind)||HULLS[hull.kind]?.sign||"•"}}})}function layLabels(picture,taken){
if(picture.boxes.length>MAX_ROUTED_BOXES)return[];const pills=picture.boxes.filter(pillOf).map(box=>{const[right,top]=[box.x+box.w/2+rise(box),box.y-box.h/2-rise(box)];return{l:right-50,t:top-10,r:right+
8,b:top+10}});const rects=[...picture.boxes.map(box=>around(box,2)),...pills,...taken];const labels=[];for(const edge of picture.edges){const words=clip(edge.label||edge.read||(edge.count>1?`${edge.count}\
 ×`:""),10,130);if(!words)continue;const width=10+textWidth(words,10);for(const t of[.5,.4,.6,.3,.7,.2,.8]){const middle=along(edge,t);const at={l:middle.x-width/2,t:middle.y-8,r:middle.x+width/2,b:middle.
y+8};if(rects.some(rect=>meets(rect,at)))continue;rects.push(at);labels.push({edge,words,at});break}}return labels}function fillOf(box,picture,palette){const{roles}=palette;const hatch=box.change==="removed"?"removed":"";if(palette.forced)return{fill:roles.box,ink:roles.fg,hatch};if(box.fill!==null){const fill=heat(
box.fill);return{fill,ink:luminance(fill)>.18?"#000000":"#ffffff",hatch}}if(["time","memory","fold"].includes(picture.colourBy)&&box.category===null){return{fill:roles.box,ink:roles.fg,hatch:hatch||"m\
issing"}}if(box.category!==null&&picture.colourBy!=="change"){return{fill:palette.categories[Math.abs(box.category)%palette.categories.length],ink:roles.fg,hatch}}if(picture.colourBy==="change"){if(box.
matched)return{fill:roles.matchedFill,ink:roles.fg,hatch};if(box.change!=="kept")return{fill:roles[`${box.change}Fill`],ink:roles.fg,hatch}}return{fill:roles.box,ink:roles.fg,hatch}}function borderOf(box,palette,picture){
const{roles}=palette;if(box.change==="kept"){const matched=box.matched&&picture.colourBy==="change";if(box.fill!==null)return{stroke:roles.fg,width:1,dash:[]};return{stroke:matched?roles.matchedLine:roles.
kept,width:matched?1.8:1.2,dash:[]}}return{stroke:roles[box.change],width:2,dash:CHANGES[box.change].dash}}function lineOf(edge,palette){const width=Math.min(4,1.2+.35*Math.log2(Math.max(1,edge.count)));
return{stroke:edge.change==="kept"?palette.roles.edge:palette.roles[edge.change],width:edge.change==="kept"?width:width+.6,dash:CHANGES[edge.change].edgeDash}}function hullStyle(kind,{roles}){const{line:line2,
fill,width,dash,hatch}=HULLS[kind]||HULLS.match;return{stroke:roles[line2],fill:roles[fill],dash,width,hatch}}var SIGN_STEP=18;var BADGE_STEP=19;var MAX_BADGES=4;function signsOf(box,picture,roles){const{change}=box;const letter=box.category!==null&&picture.colourBy!=="change"?picture.signs.get(box.category):
"";const signs=[change!=="kept"&&{sign:CHANGES[change].sign,fill:roles[change],ink:roles[inkOn(change)],stroke:roles.box},box.matched&&{sign:"M",fill:roles.matched,ink:roles.onMatched,stroke:roles.matchedLine},
Boolean(letter&&letter.length<=2)&&{sign:letter||"",fill:roles.panel,ink:roles.fg,stroke:roles.kept}];return signs.filter(sign=>sign!==false)}function badgeColours(tone,roles){const role=tone in roles?
tone:"info";return{fill:roles[role],ink:roles[inkOn(role)]}}function placePill(box,widthOf){const pill=pillOf(box);if(!pill)return null;const width=13+widthOf(pill.words);return{...pill,width,right:box.
w/2+6+rise(box),y:-box.h/2-rise(box)}}function boxElement({s},box,picture,palette,hatchUrl){const{fill,ink,hatch}=fillOf(box,picture,palette);const border=borderOf(box,palette,picture);const d=boxPath(box.kind,box.w,box.h);const stroke={stroke:border.
stroke,"stroke-width":border.width,"stroke-dasharray":dashes(border.dash)};const inner={fill:"none",stroke:border.stroke,"stroke-width":1.2};const cards=box.folds>1?STACK:[];const look=s("g",{"aria-hi\
dden":"true"},s("path",{class:"ce-ring",d:boxPath(box.kind,box.w+11,box.h+11)}),cards.map(by=>s("path",{class:"ce-card",d,transform:`translate(${by} ${-by})`,fill,...stroke})),s("path",{class:"ce-face",
d,fill,...stroke}),hatch&&s("path",{class:`ce-hatch ce-hatch-${hatch}`,d,fill:hatchUrl(hatch)}),box.change==="changed"&&s("path",{d:boxPath(box.kind,box.w-7,box.h-7),...inner}),symbolElements(s,box,fill,
ink,hatch),wordElements(s,box,fill,ink,hatch),signElements(s,box,picture,palette.roles));const attributes={role:"option","aria-selected":"false",tabindex:"-1","data-id":box.id};const name2=s("text",{class:"\
ce-name",text:describeBox(box)});return s("g",{class:`ce-box ce-${box.kind} ce-is-${box.change}`,...attributes},name2,look)}var haloOf=(fill,hatch)=>hatch?`stroke:${fill};stroke-width:4px;paint-order:\
stroke;stroke-linejoin:round`:"";function symbolElements(s,box,fill,ink,hatch){const d=symbolOf(box.kind);const far={class:"ce-big-symbol ce-big-number",y:1,fill:ink,style:haloOf(fill,hatch)};return[s(
"g",{class:"ce-symbol",transform:`translate(${symbolCentre(box)} 0)`,stroke:ink},s("circle",{r:9.5,class:"ce-disc",fill}),s("path",{d,transform:"translate(-8 -8)"})),box.numbered?s("text",{...far,text:box.
numbered}):s("g",{class:"ce-big-symbol",stroke:ink},s("path",{d,transform:"scale(2) translate(-8 -8)"}))]}function wordElements(s,box,fill,ink,hatch){const{left,two,title,detail,far}=wordsOf(box);const style={
fill:ink,style:haloOf(fill,hatch)};return[s("text",{class:"ce-title",x:left,y:two?-7:.5,...style,text:title}),two&&s("text",{class:"ce-detail",x:left,y:9.5,...style,text:detail}),s("text",{class:"ce-f\
ar-title",x:left-2,y:.5,...style,text:far})]}function signElements(s,box,picture,roles){const tags=signsOf(box,picture,roles).map(({sign,fill,ink,stroke},index)=>s("g",{class:"ce-sign",transform:`tran\
slate(${-box.w/2+3+index*SIGN_STEP} ${-box.h/2})`},s("circle",{r:8,fill,stroke}),s("text",{y:.5,fill:ink,text:sign})));const pill=placePill(box,words=>textWidth(words,11,true));const pillElement=pill&&
s("g",{class:`ce-pill ${pill.solid?"ce-solid":""}`,transform:`translate(${pill.right-pill.width/2} ${pill.y})`},s("rect",{x:-pill.width/2,y:-9,width:pill.width,height:18,rx:9}),s("text",{y:.5,text:pill.
words}));const badges=box.badges.slice(0,MAX_BADGES).map((badge,index)=>{const more=box.badges.length>MAX_BADGES&&index===MAX_BADGES-1;const sign=more?"…":clip(badge.sign,10,24,true)||"!";const width=Math.
max(17,9+textWidth(sign,10.5,true));const{fill,ink}=badgeColours(badge.tone,roles);return s("g",{class:"ce-badge",transform:`translate(${box.w/2-4-index*BADGE_STEP-width/2+8} ${box.h/2})`},s("rect",{x:-width/
2,y:-8.5,width,height:17,rx:5,fill,stroke:roles.box}),s("text",{y:.5,fill:ink,text:sign}))});return[...tags,pillElement,...badges]}function edgeElement({s},edge,palette,label){const style=lineOf(edge,palette);const stroke={stroke:style.stroke,"stroke-width":style.width,"stroke-dasharray":dashes(style.dash)};const line2=s("path",{
class:"ce-line",...stroke});const head2=s("path",{class:"ce-tip",fill:style.stroke});const pill=label?labelElement(s,edge,palette.roles,label):null;const group=s("g",{class:`ce-edge ce-is-${edge.change}`},
line2,head2,pill);return{edge,line:line2,head:head2,label:pill,group}}function labelElement(s,edge,roles,{words,at}){const[fill,ink]=edge.copied>0?[roles.copyFill,roles.copy]:[roles.freeFill,roles.free];
const look=edge.read?{rx:4,fill,stroke:ink,"stroke-dasharray":edge.copied>0?null:"2 2"}:{rx:8,fill:roles.ground,stroke:roles.line};const text2={x:(at.r-at.l)/2,y:8.5,fill:edge.read?ink:roles.muted,text:words};
return s("g",{class:`ce-edge-label${edge.read?"":" ce-plain"}`,transform:`translate(${at.l} ${at.t})`},s("rect",{width:at.r-at.l,height:16,...look}),s("text",text2))}function hullElement({s},{hull,d,tag},palette,hatchUrl){
const style=hullStyle(hull.kind,palette);const line2={stroke:style.stroke,"stroke-width":style.width,"stroke-dasharray":dashes(style.dash)};const group=s("g",{class:`ce-hull ce-hull-${hull.kind}`,"dat\
a-hull":hull.id},s("path",{d,fill:style.fill,class:"ce-tint"}),style.hatch?s("path",{d,fill:hatchUrl("lost"),class:"ce-lost-hatch"}):null,s("path",{d,fill:"none",...line2,"stroke-linecap":"round"}));const corner=tag?
`translate(${tag.at.l} ${tag.at.t})`:"";if(!tag)return{hull,group,tag:null,place:corner};const place={"data-hull":hull.id,transform:corner};const element=s("g",{class:`ce-tag ce-tag-${hull.kind}`,...place},
s("rect",{width:tag.at.r-tag.at.l,height:18,rx:9,stroke:style.stroke}),s("text",{class:"ce-tag-sign",x:10,y:9.5,fill:style.stroke,text:tag.sign}),s("text",{x:18,y:9.5,text:tag.words}));return{hull,group,
tag:element,place:corner}}var[FAR,FARTHEST]=[.62,.36];function svgScene(make,palette){const{s}=make;const name2=uniqueName("ce");const defs=s("defs");const[hullLayer,edgeLayer,tagLayer]=["ce-hulls","ce-edges","ce-tags"].map(layer=>s(
"g",{class:layer,"aria-hidden":"true"}));const boxLayer=s("g",{class:"ce-boxes",role:"presentation"});const world=s("g",{role:"presentation"},hullLayer,edgeLayer,boxLayer,tagLayer);const stage=s("svg",
{class:"ce-stage",role:"listbox","aria-multiselectable":"true"},defs,world);let picture=null;let drawn=new Map;let lines=[];let hulls=[];let starts=new Map;const hatch=(id,stroke,ground,turn,gap)=>s("\
pattern",{id:`${name2}-${id}`,width:gap,height:gap,patternUnits:"userSpaceOnUse",patternTransform:`rotate(${turn})`},ground?s("rect",{width:gap,height:gap,fill:ground}):null,s("path",{d:`M0 0V${gap}`,
stroke,"stroke-width":2}));function recolour(){const{roles}=palette();defs.replaceChildren(hatch("removed",roles.removed,"","45",8),hatch("missing",roles.hatch,"","-45",7),hatch("lost",roles.lost,"","\
45",9));if(picture)redraw(picture)}const hatchUrl=hatch2=>`url(#${name2}-${hatch2})`;function redraw(shown){const colours=palette();const laid=layHulls(shown);const taken=laid.flatMap(({tag})=>tag?[tag.
at]:[]);const labels=new Map(layLabels(shown,taken).map(label=>[label.edge,label]));hulls=laid.map(item=>hullElement(make,item,colours,hatchUrl));hullLayer.replaceChildren(...hulls.map(({group})=>group));
tagLayer.replaceChildren(...hulls.map(({tag})=>tag).filter(Boolean));lines=shown.edges.map(edge=>edgeElement(make,edge,colours,labels.get(edge)));edgeLayer.replaceChildren(...lines.map(({group})=>group));
drawn=new Map(shown.boxes.map(box=>{const{at,grown}=startOf(box,starts);const group=boxElement(make,box,shown,colours,hatchUrl);return[box.id,{box,group,from:at,grown,now:{x:box.x,y:box.y}}]}));boxLayer.
replaceChildren(...[...drawn.values()].map(({group})=>group));place(1,true)}function place(t,all){const e=ease(t);for(const item of drawn.values()){const{box,group,from,grown}=item;const still=from.x===
box.x&&from.y===box.y;item.now=t>=1||still?{x:box.x,y:box.y}:{x:from.x+(box.x-from.x)*e,y:from.y+(box.y-from.y)*e};if(!all&&still&&grown)continue;const size=grown||t>=1?"":` scale(${short(.7+.3*e)})`;
group.setAttribute("transform",`translate(${short(item.now.x)} ${short(item.now.y)})${size}`);if(grown||t>=1)group.removeAttribute("opacity");else group.setAttribute("opacity",short(e))}for(const{edge,
line:line2,head:tip,label}of lines){const[a,b]=[edge.source,edge.target].map(box=>{const item=drawn.get(box.id);return{x:item.now.x-box.x,y:item.now.y-box.y}});const away=a.x||a.y||b.x||b.y;if(label)label.
setAttribute("visibility",away?"hidden":"visible");if(!all&&!away&&t<1)continue;const points=away?moved(edge,a,b):edge.points;line2.setAttribute("d",curve(points,edge.run));tip.setAttribute("d",head(points,
edge.run))}hullLayer.setAttribute("opacity",short(t>=1?1:e*e));tagLayer.setAttribute("opacity",short(t>=1?1:e*e))}recolour();return{stage,list:stage,recolour,show(shown,from){picture=shown;starts=from;
redraw(shown)},frame(t){place(t,t>=1)},look(camera,width,height){stage.setAttribute("width",width);stage.setAttribute("height",height);const{k,x,y}=camera;const corner=`${short(width/2-k*x)} ${short(height/
2-k*y)}`;world.setAttribute("transform",`translate(${corner}) scale(${Math.round(k*1e4)/1e4})`);stage.setAttribute("class",classes("ce-stage",k<FARTHEST?"ce-farthest":k<FAR&&"ce-far"))},mark({selected,
found,hull,hover,focus}){const lit=picture&&hull?picture.hulls.find(item=>item.id===hull):null;const members=lit?new Set(lit.boxes.map(box=>box.id)):null;const first=picture&&picture.boxes.length?picture.
boxes[0].id:"";const stop=drawn.has(focus)?focus:first;for(const[id,{box,group}]of drawn){const dim=members&&!members.has(id)||found&&!found.has(id);const on=selected.has(id);const state=[on&&"ce-sele\
cted",dim&&"ce-dim",found?.has(id)&&"ce-found",id===hover&&"ce-hover"];group.setAttribute("class",classes("ce-box",`ce-${box.kind}`,`ce-is-${box.change}`,...state));group.setAttribute("aria-selected",
String(on));group.setAttribute("tabindex",id===stop?"0":"-1")}for(const{edge,group}of lines){const[a,b]=[edge.source.id,edge.target.id];const near=hover?a===hover||b===hover:selected.has(a)||selected.
has(b);const dim=members&&!(members.has(a)&&members.has(b))||found&&!found.has(a)&&!found.has(b);group.setAttribute("class",classes("ce-edge",`ce-is-${edge.change}`,near&&"ce-near",dim&&"ce-dim"))}for(const{
hull:item,group,tag}of hulls){const state=[item===lit&&"ce-lit",lit&&item!==lit&&"ce-dim"];group.setAttribute("class",classes("ce-hull",`ce-hull-${item.kind}`,...state));if(tag)tag.setAttribute("class",
classes("ce-tag",`ce-tag-${item.kind}`,...state))}},focus(id){const item=drawn.get(id);if(item)item.group.focus({preventScroll:true})},places:()=>new Map([...drawn].map(([id,{now}])=>[id,now])),close(){
stage.remove()}}}var SAID_MS=2e3;var PROPERTIES={fill:"rgb(0, 0, 0)","fill-opacity":"1",stroke:"none","stroke-width":"1px","stroke-opacity":"1","stroke-dasharray":"none","stroke-linecap":"butt","stroke-linejoin":"mite\
r",opacity:"1","font-size":"","font-weight":"400","font-style":"normal","text-anchor":"start","dominant-baseline":"auto","paint-order":"normal","vector-effect":"none"};var PAGE_ONLY=/^(class|style|role|tabindex|aria-.*|data-.*)$/;
function makeCopying({make,doc,textButton,guard,timers,announce},{state},stage){const label="Copy SVG";const buttons=[0,1].map(()=>textButton(label,()=>copy(),{title:"Copy the picture as SVG"}));function svgText(){
const panes=stage.panes();const{width,height}=stage.viewport();const size=`width="${panes.length*width}" height="${height}"`;const parts=panes.map((pane,at)=>{const name2=panes.length>1?pane.title.textContent:
"";const title=`<text x="10" y="22" font-size="13" font-weight="600" fill="${state.palette.roles.fg}">${escaped(name2)}</text>`;return`<g transform="translate(${at*width} 0)">${drawingOf(pane,width,height)}${name2?
title:""}</g>`});return`<svg xmlns="http://www.w3.org/2000/svg" ${size} viewBox="0 0 ${panes.length*width} ${height}" font-family='${FONT}'><rect width="100%" height="100%" fill="${state.palette.roles.
ground}"/>${parts.join("")}</svg>`}function drawingOf(pane,width,height){const{scene,picture,kind}=pane;if(kind!=="canvas"||!picture)return(scene.canvasSvg?.()??"")+insideOf(scene.list);const twin=svgScene(
make,()=>state.palette);pane.element.appendChild(twin.stage);try{twin.recolour();twin.show(picture,new Map);twin.frame(1);twin.look(state.camera,width,height);return insideOf(twin.list)}finally{twin.close()}}
function save(){const link=make.h("a",{href:URL.createObjectURL(new Blob([svgText()],{type:"image/svg+xml"})),download:`step-${state.step}.svg`});link.click();timers.after("saved",SAID_MS,()=>URL.revokeObjectURL(
link.href))}async function copy(){let done="Copied";try{await toClipboard(doc.defaultView,svgText())}catch{save();done="Saved as a file"}for(const button of buttons)button.textContent=done;announce(`${done}\
 as SVG.`);timers.after("copied",SAID_MS,()=>buttons.forEach(button=>button.textContent=label))}return{button:buttons[0],slideButton:buttons[1],svgText,reads:["picture","view"],draw:guard(()=>{for(const button of buttons)
button.hidden=!state.picture?.boxes.length;buttons[1].hidden||=!isPresenting(state)})}}async function toClipboard(view,svg){const type="image/svg+xml";if(!view.ClipboardItem?.supports?.(type))return view.
navigator.clipboard.writeText(svg);const item=new view.ClipboardItem({[type]:new Blob([svg],{type}),"text/plain":new Blob([svg],{type:"text/plain"})});return view.navigator.clipboard.write([item])}function insideOf(svg){
const copy=svg.cloneNode(true);inline(svg,copy);const writer=new XMLSerializer;return[...copy.childNodes].map(child=>writer.serializeToString(child)).join("").replaceAll(' xmlns="http://www.w3.org/200\
0/svg"',"")}function inline(live,copy){const copies=[...copy.children];[...live.children].forEach((child,at)=>{const style2=getComputedStyle(child);const isSeen2=style2.display!=="none"&&style2.visibility!==
"hidden"&&style2.opacity!=="0";const isName=child.getAttribute("class")==="ce-name";if(isSeen2&&!isName)inline(child,copies[at]);else copies[at].remove()});const style=getComputedStyle(live);const shape=live.
children.length===0||live.tagName==="text";for(const{name:name2}of[...copy.attributes])if(PAGE_ONLY.test(name2))copy.removeAttribute(name2);for(const[name2,plain]of Object.entries(PROPERTIES)){const value=style.
getPropertyValue(name2);const isText=live.tagName==="text";const applies=name2==="opacity"||shape&&(isText||!/^(font|text|dominant)/.test(name2));if(applies&&value&&value!==plain)copy.setAttribute(name2,
value)}}function heirOf(id,before,after){const later=after.boxes.find(box=>box.cameFrom.includes(id));if(later)return later.id;return before?.byId.get(id)?.cameFrom.find(origin=>after.byId.has(origin))??""}function makeFocusing(store,{
root,stage,stepper}){const{state}=store;const reads=Object.keys(state);let active=null;let box="";let pane=0;let drawn=null;let follows=false;const before={reads,draw(){const at=focusedIn(root);active=
root.contains(at)?at:null;box=active?stage.focusedBox():"";pane=stage.panes().findIndex(({element})=>element.contains(at))}};function isLost(){const now=focusedIn(root);if(!now||now.disabled||!root.contains(
now))return true;for(let at=now;at!==root;at=at.parentNode)if(at.hidden)return true;return false}function successor(was){const{picture,selection}=state;const here=stage.has(box);if(!picture||here&&(!follows||
selection.includes(box)))return box;const selected=follows?[...selection].reverse().find(stage.has):"";return selected||(here?box:heirOf(box,was,picture))}function draw(_,changed){const was=drawn;drawn=
state.picture;if(changed.has("focus"))follows=state.selection.includes(state.focus);else if(changed.has("selection"))follows=state.selection.includes(box)||follows&&state.selection.length>0;if(!active)
return;if(!box){const steps=stepper.element.contains(active)&&!stepper.slider.disabled;if(isLost())(steps?stepper.slider:stage).focus("");return}const target=changed.has("picture")||changed.has("selec\
tion")?successor(was):box;if(target===box&&!isLost())return;const following=follows;stage.focus(target,pane);if(target)store.set({focus:target});follows=following}return{before,after:{reads,draw}}}function rowsOf(boxes){const rows=[];for(const box of[...boxes].sort((a,b)=>a.y-a.h/2-(b.y-b.h/2))){const[t,b]=[box.y-box.h/2,box.y+box.h/2];const last=rows[rows.length-1];if(last&&t<last.b){last.b=Math.
max(last.b,b);last.boxes.push(box)}else rows.push({t,b,boxes:[box]})}for(const row of rows)row.boxes.sort((a,b)=>a.x-b.x);return rows}function beside(picture,id,way){const rows=rowsOf(picture.boxes);const row=rows.
findIndex(item=>item.boxes.some(box2=>box2.id===id));if(row<0)return rows[0].boxes[0];const box=picture.byId.get(id);if(way==="up"||way==="down"){const other=rows[row+(way==="up"?-1:1)];return other&&
other.boxes.reduce((best,item)=>Math.abs(item.x-box.x)<Math.abs(best.x-box.x)?item:best)}const order=rows.flatMap(item=>item.boxes);return order[order.indexOf(box)+(way==="previous"?-1:1)]}var MAX_IDS=12;var MAX_READS=40;function factsOf(box,picture){const reads=picture.edges.filter(edge=>edge.target===box).map(edge=>edgeRow(edge,edge.source));const readBy=picture.edges.filter(edge=>edge.
source===box).map(edge=>edgeRow(edge,edge.target));const hulls=picture.hulls.filter(hull=>hull.boxes.includes(box));const badges=box.badges.map(badge=>`${badge.sign} ${badge.text}`);const sections=[{heading:"\
Node",rows:nodeRows(box,picture),lines:badges},cutSection("Reads",reads),cutSection("Read by",readBy),{heading:"Matches",rows:hulls.map(hull=>[nameHull(hull),hull.reason]),lines:[]}];return{id:box.id,
title:box.title,sections:sections.filter(({heading,rows})=>heading==="Node"||rows.length),closeup:null}}function nodeRows(box,picture){const{ids}=box;const rows=[box.detail&&["About",box.detail],["Kin\
d",box.kind],["Level",String(box.level)],box.count>1&&["Stands for",`${box.count} nodes`],box.folds>1&&["Slices",`F = ${box.folds}`],box.change!=="kept"&&["In this step",CHANGE_WORDS[box.change]],box.
matched&&["Match","a pattern matched here"],box.fillText&&[COLOUR_WORDS[picture.colourBy]||"Value",box.fillText],ids.length&&["Ids",ids.slice(0,MAX_IDS).join(", ")+andMore(ids.length-MAX_IDS)]];return rows.
filter(Boolean)}var andMore=count=>count>0?` and ${count} more`:"";var cutSection=(heading,rows)=>({heading,rows:rows.slice(0,MAX_READS),lines:rows.length>MAX_READS?[`and ${rows.length-MAX_READS} more`]:
[]});function edgeRow({label,read,count,change},other){const facts=[label||read,count>1?`${count} edges`:"",change==="kept"?"":change];return[other.title,facts.filter(Boolean).join(", ")]}var grouped=count=>count.
toLocaleString("en");var timeText=seconds=>seconds<.9995?`${(1e3*seconds).toPrecision(3)} ms`:`${seconds.toPrecision(3)} s`;function factsOfStep(step){const sizes=step.counted?[[step.counted,grouped(step.
layers)]]:[["Calls",grouped(step.layers)],["Layers",grouped(step.folds)]];const same=step.ok===null?"not checked":step.ok?"checked, they agree":"checked, they DIFFER";const rows=[["Path",step.path],...sizes,
["Matches",grouped(step.matches)],["Near misses",grouped(step.nearMisses)],["Compiled in",step.seconds?timeText(step.seconds):"not recorded"],["Same values",same]];const lines=[step.summary,step.error,
"Select a box to see what it is."].filter(Boolean);return{id:"",title:step.title,sections:[{heading:"Step",rows,lines}],closeup:null}}var SECTIONS=[{name:"why-not",words:"Why not",key:"w",heading:/^why/i},{name:"lineage",words:"Lineage",key:"h",heading:/^lineage/i},{name:"timing",words:"Timing",key:"t",heading:/^(timing|time|numbers)/i}];
var CODE=/^(code|python|copy as)/i;var MAX_NAMES=12;var MAX_UNBROKEN=16;function makeInspector({h,button,textButton},store,{request,setView},settings){const{state}=store;const closed=new Set;const element=h(
"aside",{class:"ce-side","aria-label":"Details",tabindex:"0",hidden:true});const toggle=button("Details","panel",()=>store.set({showSide:!state.showSide}),{"aria-expanded":"false"});function shownDetails(){
const box=inspectedBox(state);const{picture,selection}=state;const received=isAsking(state)?null:state.details;if(received&&received.id&&selection.includes(received.id))return received;if(box&&picture)
return factsOf(box,picture.byId.has(box.id)?picture:picture.other||picture);if(received&&!received.id&&received.sections.length)return received;const current=state.steps[state.step];return current?factsOfStep(
current):null}function selectedSection(){const names=state.selection.flatMap(id=>boxOf(state,id)?.title??[]);const words=names.slice(0,MAX_NAMES).join(", ")+andMore(names.length-MAX_NAMES);return{heading:`${state.
selection.length} boxes selected`,rows:[],lines:[words]}}function valueElement(values){const parts=values.filter(Boolean).flatMap((value,index)=>[index?h("span",{text:"  ·  "}):null,h("span",{class:value.
length<=MAX_UNBROKEN?"ce-unbroken":null,text:value})]);return h("dd",{},parts)}function sectionElement({heading,rows,lines}){const facts=rows.map(([name2,...values])=>h("div",{},h("dt",{text:name2}),valueElement(
values)));const code=CODE.test(heading)&&lines.length;const part=h("details",{open:!closed.has(heading),"data-heading":heading},h("summary",{text:heading}),facts.length?h("dl",{class:"ce-rows"},facts):
null,code?h("pre",{text:lines.join("\n"),tabindex:"0"}):lines.map(line2=>h("p",{text:line2})));part.addEventListener("toggle",()=>part.open?closed.delete(heading):closed.add(heading));return part}function sectionButtons(sections){
const answered=list(state.options.requests);const offered=SECTIONS.filter(({name:name2,heading})=>answered.includes(name2)||sections.some(section=>heading.test(section.heading)));const buttons=offered.
map(({name:name2,words,key})=>textButton(words,()=>openSection(name2),{title:`${words} (${key})`}));return buttons.length?[h("div",{class:"ce-group ce-goto"},buttons)]:[]}function openSection(name2){const section=SECTIONS.
find(item=>item.name===name2);if(!section)return;setView({tab:name2});if(isDrawer(state))store.set({showSide:true});for(const child of element.childNodes){if(!child.getAttribute||!section.heading.test(
child.getAttribute("data-heading")||""))continue;child.setAttribute("open","");if(child.scrollIntoView)child.scrollIntoView({block:"nearest"});if(child.firstChild&&child.firstChild.focus)child.firstChild.
focus();return}request(name2)}function replaceContent(content){const active=focusedIn(element);const held=element.contains(active);let part=active;while(held&&part!==element&&part.parentNode!==element)
part=part.parentNode;const heading=held?part.getAttribute("data-heading"):null;const top=element.scrollTop;element.replaceChildren(...content);element.scrollTop=top;if(!held||element.contains(active))
return;const again=[...element.childNodes].find(child=>heading&&child.getAttribute("data-heading")===heading);(again?again.firstChild:element).focus()}function close(){store.set({showSide:false});toggle.
focus()}return{element,toggle,openSection,close,reads:["picture","steps","selection","details","options","palette","showSide"],draw(){const kind=inspectorKind(state);const open=kind!=="none"&&(isDrawer(
state)||isUnselected(state)?state.showSide:!state.showSide);toggle.hidden=kind==="none";toggle.setAttribute("aria-expanded",String(open));element.hidden=!open;if(!open){element.replaceChildren();return}
const shown=shownDetails();const many=state.selection.length>1&&shown?[selectedSection()]:[];const sections=[...many,...shown?shown.sections:[]];replaceContent([h("h2",{},h("span",{text:shown?shown.title:
"Details"}),isDrawer(state)?button("Close the drawer","close",close,{class:"ce-bare"}):null),...inspectedBox(state)?sectionButtons(sections):[],...shown?sections.map(sectionElement):[h("p",{text:"Sele\
ct a box to see what it is."})],...isCompact(state)?[settings(closed)]:[]])}}}var STYLE3=`
.ce-side{flex:0 0 300px;min-width:0;overflow:auto;border-left:1px solid var(--ce-line);background:var(--ce-panel);padding:10px 12px 16px}
.ce-drawer .ce-side{position:absolute;right:0;top:0;bottom:0;width:min(320px,92%);z-index:3;box-shadow:-4px 0 18px var(--ce-shade)}
.ce-side h2{display:flex;align-items:center;gap:6px;font-size:14px;line-height:1.3;margin:0 0 6px;font-weight:650;overflow-wrap:anywhere;color:inherit}
.ce-side h2 span{flex:1}
.ce-goto{gap:6px;margin:0 0 8px}
.ce-side details{border-top:1px solid var(--ce-line);padding:2px 0 6px}
.ce-side summary{cursor:pointer;font-weight:600;padding:4px 0;min-height:24px}
.ce-side p{margin:4px 0;overflow-wrap:anywhere}
.ce-side pre{margin:4px 0;padding:8px;font:12px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--ce-ground);color:inherit;border:1px solid var(--ce-line);border-radius:6px;ov\
erflow:auto;white-space:pre}
.ce-rows{display:grid;grid-template-columns:fit-content(50%) minmax(0,1fr);gap:2px 12px;margin:2px 0}
.ce-rows>div{display:grid;grid-template-columns:subgrid;grid-column:1/-1}
.ce-rows dt{color:var(--ce-muted);font-weight:400;margin:0;overflow-wrap:anywhere}
.ce-unbroken{white-space:nowrap}
.ce-rows dd{margin:0;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
.ce-settings{display:flex;flex-direction:column;gap:6px;align-items:flex-start;padding-bottom:6px}
`;var ZOOM_STEP=1.35;var makeZoom=({h,button},{zoom,fit,focusOrFit})=>({element:h("div",{class:"ce-float ce-zoom",role:"group","aria-label":"Zoom"},button("Zoom in (+)","plus",()=>zoom(ZOOM_STEP)),button(
"Zoom out (−)","minus",()=>zoom(1/ZOOM_STEP)),button("Fit all (Space on the graph)","fit",fit),button("Focus on the selection (f)","focus",focusOrFit))});var STYLE4=`
.ce-zoom{right:10px;top:8px;flex-direction:column}
`;function makeKeys({announce,guard},store,page){const{root,slider,setMode,stage,camera,stepping,selecting,search,inspector,help,hint,slides,timing}=page;const{state}=store;const currentBox=picture=>picture.
byId.has(state.focus)?state.focus:picture.boxes[0].id;function moveFocus(way){const pane=stage.currentPane();if(!pane||!pane.picture||!pane.picture.boxes.length)return false;const next=beside(pane.picture,
currentBox(pane.picture),way);if(!next)return true;store.set({focus:next.id});camera.reveal(next);pane.scene.focus(next.id);if(isCompact(state))announce("");return true}function enter(add){const{picture,
focus}=state;if(!picture||!picture.boxes.length)return false;selecting.choose(picture.other?.byId.has(focus)?focus:currentBox(picture),add);return true}function escape(){hint.hide();if(state.showHelp)
help.open(false);else if(state.playing)stepping.setPlaying(false);else if(state.query)search.clear();else if(state.hull||state.selection.length){if(state.hull)selecting.light("");selecting.select([])}else if(isDrawer(
state)&&state.showSide)inspector.close();else focusedIn(root)?.blur?.()}const letters={"[":()=>selecting.turn(-1),"]":()=>selecting.turn(1),"+":()=>camera.zoom(ZOOM_STEP),"=":()=>camera.zoom(ZOOM_STEP),
"-":()=>camera.zoom(1/ZOOM_STEP),_:()=>camera.zoom(1/ZOOM_STEP),f:()=>camera.focusOrFit(),"/":()=>{if(isCompact(state))store.set({showSide:true});search.focus()},d:()=>setMode(text(state.view.mode,"di\
ff")==="diff"?"after":"diff"),"?":()=>help.open(),t:()=>timing.isOffered()?timing.start():inspector.openSection("timing"),",":graph=>graph&&moveFocus("previous"),".":graph=>graph&&moveFocus("next"),...Object.
fromEntries(SECTIONS.filter(({key})=>key!=="t").map(({key,name:name2})=>[key,()=>inspector.openSection(name2)]))};function act({key,shiftKey,target},graph,pressing){const[vertical,way]=[key==="ArrowUp"||
key==="ArrowDown",key==="ArrowUp"?1:-1];if(key==="ArrowLeft"||key==="ArrowRight"){stepping.walk(key==="ArrowLeft"?-1:1,shiftKey||!state.onlyChanging)}else if(key==="Home")stepping.goTo(0);else if(key===
"End")stepping.goToEnd();else if(key==="Escape")escape();else if(key===" "&&!pressing){if(graph)camera.fit();else stepping.setPlaying(!state.playing)}else if(graph&&vertical)return moveFocus(key==="Ar\
rowUp"?"up":"down");else if(vertical&&target===slider)stepping.walk(way);else if(graph&&key==="Enter")return enter(shiftKey);else if(state.options.letter_keys===false||!Object.hasOwn(letters,key))return false;else
return letters[key](graph)!==false;return true}function press(event){if(event.defaultPrevented||event.isComposing)return;const target=targetOf(event);const tag=text(target&&target.tagName).toLowerCase();
const type=tag==="input"?target.getAttribute("type"):"";const typing=tag==="textarea"||tag==="select"||type==="search";if(typing&&event.key!=="Escape")return;if(event.ctrlKey||event.metaKey||event.altKey)
return;const pressing=tag==="button"||tag==="summary"||type==="checkbox";const{key,shiftKey}=event;const used=isPresenting(state)?slides.press(event,pressing):act({key,shiftKey,target},stage.hasFocus(),
pressing);if(!used)return;event.preventDefault();event.stopPropagation()}function listenToPage(doc){const listen=guard(event=>{if(state.options.main!==true||doc.body.inert)return;const path=event.composedPath();
if(!path.includes(root)&&!path.some(usesKeys))press(event)});doc.addEventListener("keydown",listen);return()=>doc.removeEventListener("keydown",listen)}return{press,listenToPage}}var targetOf=event=>event.
composedPath?.()[0]??event.target;var FIELDS=["input","select","textarea"];var PRESSED=["button","checkbox","file","reset","submit"];var ROLES="combobox dialog grid listbox menu menubar option radio r\
adiogroup searchbox slider spinbutton tab tablist textbox tree treeitem";var KEY_ROLES=new Set(ROLES.split(" "));function usesKeys(element){if(!element.getAttribute)return false;if(element.isContentEditable||
KEY_ROLES.has(element.getAttribute("role")))return true;return FIELDS.includes(text(element.tagName).toLowerCase())&&!PRESSED.includes(element.getAttribute("type"))}function distance(p,a,b){const[dx,dy]=[b.x-a.x,b.y-a.y];const along2=((p.x-a.x)*dx+(p.y-a.y)*dy)/(dx*dx+dy*dy||1);const t=Math.min(1,Math.max(0,along2));return Math.hypot(p.x-a.x-t*dx,p.y-a.y-t*dy)}function edgeAt({
edges},at,reach){let nearest=null;let least=reach;for(const edge of edges){for(let index=1;index<edge.points.length;index+=1){const far=distance(at,edge.points[index-1],edge.points[index]);if(far<=least)
[nearest,least]=[edge,far]}}return nearest}function cellsOf(box){const plate=box.plate;if(!plate)return[];const[left,top]=[box.x-box.w/2,box.y-box.h/2];const{cells,places,unit,gap}=plate;return cells.map((layer,index)=>{const[column,row,width,
height]=places.slice(4*index,4*index+4);const area={x:left+column*unit[0]+gap/2,y:top+row*unit[1]+gap/2,w:width*unit[0]-gap,h:height*unit[1]-gap};return{layer,box,index,area,closed:gap===0}})}var allCells=picture=>picture.
boxes.flatMap(cellsOf);var cellAt=(box,x,y)=>cellsOf(box).find(({area})=>x>=area.x&&x<=area.x+area.w&&y>=area.y&&y<=area.y+area.h)||null;function colourOf(box,picture,palette){const plain=picture.colourBy===
"change"||picture.colourBy==="kind";if(plain)return{fill:palette.roles[box.kind]||palette.roles.operator,ink:palette.roles.onCell,hatch:""};return fillOf({...box,change:"kept"},picture,palette)}var DRAG=4;var REACH=5;var[WHEEL,PINCH]=[.0016,.008];function scrolls(element){const window=element.ownerDocument.defaultView;for(let at=element.parentNode;at&&window;at=at.host||at.parentNode){if(!(at.
scrollHeight>at.clientHeight+1))continue;const overflow=at.nodeType===1?window.getComputedStyle(at).overflowY:"";if(at===element.ownerDocument.documentElement||overflow==="auto"||overflow==="scroll")return true}
return false}function makePointing({guard},store,{root,stage,camera,selecting,hint}){const{state}=store;function pointIn(event,{element}){const rect=element.getBoundingClientRect();return{x:event.clientX-
rect.left,y:event.clientY-rect.top}}const hit=(at,{picture})=>picture&&boxAt(picture,state.camera,at,stage.viewport());function hover(at,pane){const box=hit(at,pane);const point=pointOf(state.camera,at,
stage.viewport());const cell=box?.plate?cellAt(box,point.x,point.y):null;store.set({hover:box?box.id:"",cell:cell?cell.index:-1});const edge=!box&&pane.picture?edgeAt(pane.picture,point,REACH/state.camera.
k):null;if(box)hint.show(box,at,pane.element);else if(edge)hint.showEdge(edge,at,pane.element);else hint.hide()}function leave(){store.set({hover:"",cell:-1});hint.hide()}function click(event,pane){const add=event.
shiftKey||event.ctrlKey||event.metaKey;for(let target=event.target;target&&target!==pane.element;target=target.parentNode){const hull=target.getAttribute&&target.getAttribute("data-hull");if(hull&&target.
getAttribute("class").includes("ce-tag"))return selecting.light(hull);const id=target.getAttribute&&target.getAttribute("data-id");if(id&&target!==pane.scene.stage)return selecting.choose(id,add)}const box=hit(
pointIn(event,pane),pane);if(box)return selecting.choose(box.id,add);if(state.options.many!==true)selecting.select([]);if(state.hull)selecting.light("")}function wheel(event,pane){const zooms=event.ctrlKey||
event.metaKey||state.options.main===true&&!scrolls(root);if(!zooms&&!root.contains(focusedIn(root)))return;event.preventDefault();camera.zoom(Math.exp(-event.deltaY*(event.ctrlKey?PINCH:WHEEL)),pointIn(
event,pane))}function attach(pane){const{element}=pane;let drag=null;let dragged=false;const on=(type,action,options)=>element.addEventListener(type,guard(action),options);function move(event){if(drag&&
event.buttons!==void 0&&!(event.buttons&1))drag=null;if(!drag)return hover(pointIn(event,pane),pane);const[dx,dy]=[event.clientX-drag.x,event.clientY-drag.y];if(!drag.moved&&Math.hypot(dx,dy)<DRAG)return;
if(!drag.moved&&element.setPointerCapture&&event.pointerId!==void 0){element.setPointerCapture(event.pointerId)}drag.moved=true;element.setAttribute("class","ce-view ce-dragging");const{k,x,y}=drag.camera;
camera.jumpTo({k,x:x-dx/k,y:y-dy/k});hint.hide()}function release(){dragged=Boolean(drag&&drag.moved);drag=null;element.setAttribute("class","ce-view")}on("pointerdown",event=>{if(event.button)return;
dragged=false;drag={x:event.clientX,y:event.clientY,camera:state.camera,moved:false}});on("pointermove",move);on("pointerup",release);on("pointercancel",release);on("pointerleave",()=>{if(!drag)leave()});
on("click",event=>{if(!dragged){hint.hide();click(event,pane);store.set({slice:state.cell})}dragged=false});on("wheel",event=>wheel(event,pane),{passive:false});on("focusin",event=>{const id=event.target.
getAttribute&&event.target.getAttribute("data-id");if(id)store.set({focus:id})})}return{attach}}var MAX_SPREAD=4*MAX_SVG_BOXES;var GAP=16;function route(boxes,edges){for(const edge of edges)connect(edge);if(edges.length<=MAX_SPREAD)spread(edges);if(boxes.length>MAX_ROUTED_BOXES)return;overNeighbours(
boxes,edges);const rows=rowsOf(boxes);const lanes=[];for(const edge of edges){if(edge.run==="v"&&!edge.bends.length&&edge.points.length===2)detour(edge,rows,lanes)}}var wayOf=({run,source,target})=>run===
"v"?Math.sign(target.y-source.y):Math.sign(target.x-source.x)||1;function connect(edge){const{source,target}=edge;edge.run=Math.abs(target.y-source.y)>=(source.h+target.h)/2?"v":"h";const way=wayOf(edge);
edge.points=[endAt(source,edge.run,way),...edge.bends,endAt(target,edge.run,-way)]}function endAt(box,run,side){if(run==="v")return{x:box.x,y:box.y+side*(box.h/2+(side<0?rise(box):0))};return{x:box.x+
side*(box.w/2+(side>0?rise(box):0)),y:box.y}}function spread(edges){const ports=new Map;for(const edge of edges){const{source,target,run,points}=edge;for(const[box,other,side,at]of[[source,target,wayOf(
edge),points[0]],[target,source,-wayOf(edge),points[points.length-1]]]){const key=`${box.id} ${run} ${side}`;const group=ports.get(key)||[];if(!group.length)ports.set(key,group);group.push({edge,at,other:run===
"v"?other.x:other.y,reach:run==="v"?box.w:box.h})}}for(const group of ports.values()){if(group.length<2)continue;group.sort((a,b)=>a.other-b.other);const gap=Math.min(GAP,.72*group[0].reach/(group.length-
1));group.forEach(({edge,at},index)=>{at[edge.run==="v"?"x":"y"]+=(index-(group.length-1)/2)*gap})}}function detour(edge,rows,lanes){const[from,to]=edge.points;const[top,bottom]=[Math.min(from.y,to.y),
Math.max(from.y,to.y)];const between3=rows.filter(row=>row.t-1>top&&row.b+1<bottom);if(!between3.length)return;const down=to.y>from.y;if(!down)between3.reverse();const lane=straightLane(between3,from,
to);const bends=[];const own=[];let last=from.x;for(const row of between3){const[t,b]=[row.t-4-STACK[0],row.b+4];const x=apart(row,passage(row.boxes,bends.length?last:lane??last),lanes);own.push({x,t:t-
30,b:b+30});if(bends.length&&Math.abs(last-x)<1)bends.pop();else bends.push({x,y:down?t:b});bends.push({x,y:down?b:t});last=x}lanes.push(...own);edge.points=[from,...bends,to];bySide(edge,rows)}function overNeighbours(boxes,edges){
for(const edge of edges){const{source,target}=edge;if(edge.run!=="h"||edge.bends.length)continue;const[l,r]=[Math.min(source.x,target.x),Math.max(source.x,target.x)];const[t,b]=[Math.min(source.y,target.
y),Math.max(source.y,target.y)];const between3=boxes.filter(box=>box!==source&&box!==target&&box.x>l&&box.x<r&&box.y+box.h/2>t&&box.y-box.h/2<b);if(!between3.length)continue;const way=Math.sign(target.
x-source.x);const tops=[source,target,...between3].map(box=>box.y-box.h/2-rise(box));const[over,end]=[Math.min(...tops)-18,target.x-way*target.w/4];edge.run="v";edge.points=[{x:source.x,y:tops[0]},{x:end-
way*10,y:over,side:true},{x:end,y:tops[1]}]}}function bySide(edge,rows){const last=edge.points.length-1;for(const[end,bend,box]of[[0,1,edge.source],[last,last-1,edge.target]]){const[at,lane]=[edge.points[end],
edge.points[bend]];const way=Math.sign(lane.x-box.x);const reach=box.w/2+(way>0?rise(box):0);const row=rows.find(item=>item.boxes.includes(box));if(Math.abs(at.y-lane.y)>26||Math.abs(lane.x-box.x)<reach+
10||!row)continue;const[l,r]=[Math.min(lane.x,box.x),Math.max(lane.x,box.x)];if(row.boxes.some(other=>other!==box&&other.x+other.w/2+rise(other)>l&&other.x-other.w/2<r))continue;edge.points[end]={x:box.
x+way*reach,y:box.y+(end?5:-5),side:true}}}var isClear=(boxes,x,margin)=>boxes.every(box=>x<box.x-box.w/2-margin||x>box.x+box.w/2+margin+rise(box));function apart(row,x,lanes){const near=lanes.filter(
lane=>lane.t<row.b&&row.t<lane.b);for(const shift of[0,7,-7,14,-14,21,-21]){if(isClear(row.boxes,x+shift,6)&&near.every(lane=>Math.abs(lane.x-x-shift)>5))return x+shift}return x}function straightLane(rows,from,to){
const wishes=rows.flatMap(({boxes})=>[from.x,to.x,(from.x+to.x)/2].map(wish=>passage(boxes,wish)));const clear=[from.x,to.x,...wishes].filter(x=>rows.every(({boxes})=>isClear(boxes,x,9)));const cost=x=>Math.
abs(x-from.x)+Math.abs(x-to.x);return clear.length?clear.reduce((best,x)=>cost(x)<cost(best)?x:best):null}function passage(boxes,wish){const[tight,airy]=[10,22];let best=Infinity;const offer=(left,right)=>{
const margin=Math.min(airy,Math.max(tight,(right-left)/2));if(right-left<2*tight-6)return;const x=right-left<=2*margin?(left+right)/2:Math.min(right-margin,Math.max(left+margin,wish));if(Math.abs(x-wish)<
Math.abs(best-wish))best=x};boxes.forEach((box,index)=>{const before=boxes[index-1];offer(before?before.x+before.w/2+rise(before):-1e6,box.x-box.w/2)});const last=boxes[boxes.length-1];offer(last.x+last.
w/2+rise(last),1e6);return best}var MARGIN3=24;var MIN_SIZE=8;var readTable=value=>({columns:texts(record(value).columns),rows:list(record(value).rows).map(texts)});function readPicture(json,bytes,insist=false){if(json==null||json===
"")return null;const raw=parseJson("The picture is",json);if(!raw||typeof raw!=="object"||Array.isArray(raw))throw new Error("The picture is not an object.");if(!Object.keys(raw).length)return null;checkVersion(
"The picture has",raw.version);if(!Array.isArray(raw.nodes))throw new Error("The picture has no list of nodes.");const floats=asFloats(bytes);const besides=raw.other&&Array.isArray(raw.other.nodes)?raw.
other.nodes.length:0;const fits=floats.length===4*(raw.nodes.length+besides)&&floats.every(Number.isFinite);if(!fits&&!insist)return"wait";const picture=build(raw,fits?floats:null,0);if(besides)picture.
other=build(raw.other,fits?floats:null,4*raw.nodes.length);return picture}function build(raw,floats,start){const boxes=readBoxes(raw.nodes,floats,start);const byId=new Map(boxes.map(box=>[box.id,box]));
const all=list(raw.edges).map(edge=>readEdge(record(edge),byId));const edges=all.filter(edge=>edge!==null);const lost=all.length-edges.length;const lostWords=lost?` ${lost} ${lost===1?"arrow leads":"a\
rrows lead"} outside the picture.`:"";const legend=list(raw.legend).map(item=>readLegendItem(record(item)));const right=boxes.reduce((most,box)=>Math.max(most,box.x+box.w/2+MARGIN3),0);const bottom=boxes.
reduce((most,box)=>Math.max(most,box.y+box.h/2+MARGIN3),0);if(text(raw.group_by)!=="plates")route(boxes,edges);return{step:number(raw.step),mode:text(raw.mode,"diff"),colourBy:text(raw.colour_by,"chan\
ge"),groupBy:text(raw.group_by,"fold"),title:text(raw.title),caption:text(raw.caption),note:text(raw.note)+lostWords,message:text(raw.message),width:Math.max(number(raw.width),right),height:Math.max(number(
raw.height),bottom),boxes,byId,edges,hulls:readHulls(raw.hulls,byId),legend,signs:signsOfCategories(legend),table:readTable(raw.table),actions:list(raw.actions).map(action=>({name:text(record(action).
name),label:text(record(action).label),beside:text(record(action).beside,raw.message?"message":"note")})),origins:list(raw.origins).map(numbers2),matches:list(raw.matches).map(match=>({...readHull(record(
match)),nodes:texts(record(match).nodes)})),links:list(raw.links).flatMap(link=>readLink(record(link),byId)??[]),other:null}}var pointOf2=([x,y])=>({x:number(x),y:number(y)});function readLink(link,byId){
const[source,target]=[byId.get(text(link.source)),byId.get(text(link.target))];const points=list(link.points).filter(Array.isArray).map(pointOf2);if(!source||!target||points.length<2)return null;return{
source,target,points,lines:texts(link.lines),at:Array.isArray(link.at)?pointOf2(link.at):null}}var numbers2=value=>list(value).map(item=>number(item));function readPlate(value){if(!value||typeof value!==
"object")return null;const{calls,news,reads,shape}=value;return{cells:numbers2(value.cells),places:numbers2(value.places),unit:numbers2(value.unit),gap:number(value.gap),room:number(value.room,80),marks:Object.
fromEntries(Object.entries(record(value.marks)).map(([mark,cells])=>[mark,numbers2(cells)])),calls:text(calls),news:text(news),reads:text(reads),shape:text(shape),times:list(value.times).map(bar=>({lane:text(
record(bar).lane),share:Math.min(1,Math.max(0,number(record(bar).share))),text:text(record(bar).text)}))}}function readBoxes(nodes,floats,start){const used=new Map;const ids=new Set;return nodes.map((node,index)=>{
if(!node||typeof node!=="object"||node.id==null){throw new Error(`Node ${index} of the picture has no id.`)}const id=text(node.id);if(ids.has(id))throw new Error(`The id ${id} is not unique in the pic\
ture.`);ids.add(id);const level=number(node.level);const column=used.get(level)||0;used.set(level,column+1);const at=start+4*index;const[x,y,w,h]=floats?floats.subarray(at,at+4):[100+180*column,60+100*
level,152,46];return{...readBox(node),id,level,x,y,w:Math.max(MIN_SIZE,w),h:Math.max(MIN_SIZE,h)}})}var readBox=node=>({ids:list(node.ids),title:text(node.title),detail:text(node.detail),kind:text(node.
kind,"operator"),count:number(node.count,1),folds:number(node.folds,1),change:changeOf(node),fill:typeof node.fill==="number"?Math.min(1,Math.max(0,node.fill)):null,fillText:text(node.fill_text),category:typeof node.
category==="number"?node.category:null,matched:node.matched===true,badges:list(node.badges).map(badge=>({sign:text(record(badge).sign,"!"),text:text(record(badge).text),tone:text(record(badge).tone,"i\
nfo")})),cameFrom:texts(node.came_from),numbered:"",plate:readPlate(node.plate)});var changeOf=({change})=>Object.hasOwn(CHANGES,text(change))?change:"kept";function readEdge(edge,byId){const[source,target]=[
byId.get(text(edge.source)),byId.get(text(edge.target))];if(!source||!target)return null;const bends=list(edge.points).filter(Array.isArray);return{source,target,change:changeOf(edge),count:number(edge.
count,1),read:text(edge.read),copied:number(edge.copied_bytes),label:text(edge.label),pairs:numbers2(edge.pairs),bends:bends.map(pointOf2),points:[],run:"v"}}function readHulls(hulls,byId){const all=list(
hulls).map((hull,index)=>({...readHull(record(hull),index),boxes:texts(record(hull).nodes).flatMap(id=>byId.get(id)??[])}));return all.filter(hull=>hull.boxes.length)}var readHull=(hull,index=0)=>({id:text(
hull.id,String(index)),kind:text(hull.kind,"match"),label:text(hull.label),reason:text(hull.reason)});var readLegendItem=({channel,role,sign,text:words})=>({channel:text(channel),role:text(role),sign:text(
sign),text:text(words)});function signsOfCategories(legend){const signs=new Map;for(const{role,sign}of legend){const category=/^category-(\d+)$/.exec(role);if(category&&sign)signs.set(Number(category[1]),
sign)}return signs}function readCloseup(value){if(!value||typeof value!=="object")return null;return{title:text(value.title),memory:value.memory?readMemory(record(value.memory)):null}}var numbers3=value=>list(value).map(
item=>number(item));function readMemory(value){return{sentence:text(value.sentence),line:text(value.line,"edge"),sources:list(value.sources).map(strip=>readStrip(record(strip))),own:readStrip(record(value.
own)),arity:number(value.arity),reads:numbers3(value.reads),copy:text(value.copy),cut:text(value.cut)}}var readStrip=value=>({title:text(value.title),kind:text(value.kind,"operator"),count:number(value.
count),prefix:text(value.prefix),suffix:text(value.suffix),numbers:numbers3(value.numbers),apart:value.apart===true});function readSteps(value){return asList(value).map((step,index)=>({index:number(record(step).index,index),path:text(record(step).path),title:text(record(step).title,`Step ${index+1}`),summary:text(record(
step).summary),changed:record(step).changed!==false,ok:typeof record(step).ok==="boolean"?step.ok:null,error:text(record(step).error),layers:number(record(step).layers),folds:number(record(step).folds),
matches:number(record(step).matches),counted:text(record(step).counted),nearMisses:number(record(step).near_misses),seconds:number(record(step).seconds),frame:readFrame(record(step).frame,index),scenes:list(
record(step).scenes).map(scene=>({name:text(record(scene).name),title:text(record(scene).title),mode:text(record(scene).mode,"diff"),sentence:text(record(scene).sentence)}))}))}function readFrame(value,step){
if(!value||typeof value!=="object")return null;return{step,label:text(value.label),calls:number(value.calls),sentence:text(value.sentence),times:readNumbers(value.times),missing:Object.fromEntries(Object.
entries(record(value.missing)).map(([lane,why])=>[lane,text(why)])),plates:list(value.plates).map(plate=>({kind:text(record(plate).kind,"operator"),at:list(record(plate).at).map(part=>number(part)),calls:number(
record(plate).calls,1),ms:readNumbers(record(plate).ms)}))}}var readNumbers=value=>Object.fromEntries(Object.entries(record(value)).map(([name2,item])=>[name2,number(item)]));function readDetails(value){
const raw=asDict(value);if(!Object.keys(raw).length)return null;return{id:text(raw.id),title:text(raw.title),sections:list(raw.sections).map(section=>({heading:text(record(section).heading),rows:list(
record(section).rows).map(texts),lines:texts(record(section).lines)})),closeup:readCloseup(raw.closeup)}}function foundIn(pictures,query){const words=query.trim().toLowerCase();if(!words)return null;const boxes=pictures.flatMap(picture=>picture.boxes);const textOf=({title,detail,kind,id,ids,change})=>`${title}\
 ${detail} ${kind} ${id} ${ids.map(node=>`#${node}`).join(" ")} ${change}`.toLowerCase();return new Set(boxes.filter(box=>textOf(box).includes(words)).map(box=>box.id))}function makeSearch({h,guard},store,{
goTo}){const{state}=store;const input=h("input",{type:"search",placeholder:"Search  /","aria-label":"Search boxes",oninput:guard(()=>find(input.value,true)),onkeydown:guard(event=>key(event))});const count=h(
"span",{class:"ce-count",role:"status"});function find(query,go){store.set({query,found:foundIn(picturesOf(state),query)});const[first]=state.found||[];if(go&&first!==void 0)goTo(first,false)}function clear(){
input.value="";find("",false)}function key(event){if(event.key==="Enter"&&state.found&&state.found.size){const ids=[...state.found];const next=ids[(ids.indexOf(state.focus)+(event.shiftKey?-1:1)+ids.length)%
ids.length];store.set({focus:next});goTo(next,true);event.stopPropagation()}if(event.key==="Escape"&&input.value){clear();event.stopPropagation();event.preventDefault()}}return{element:h("div",{class:"\
ce-group"},input,count),clear,focus:()=>input.focus(),reads:["found"],draw(){const{found}=state;const nothing=`No box of this step contains “${state.query.trim()}”.`;count.textContent=found?found.
size?`${found.size} found`:nothing:""}}}var STYLE5=`
.ce-root input[type=search]{width:132px;cursor:text}
.ce-count{color:var(--ce-muted);min-width:4.2em;font-variant-numeric:tabular-nums}
`;var isSame=(a,b)=>a.length===b.length&&a.every((item,index)=>item===b[index]);function makeSelecting({announce},store,{save,setView},{root,stage,camera,lit}){const{state}=store;function select(ids){if(isSame(
ids,state.selection))return;camera.forgetFocus();if(!ids.length!==!state.selection.length&&!isDrawer(state))store.set({showSide:false});store.set({selection:ids,slice:-1});save({selection:ids})}function choose(id,add){
const{selection}=state;store.set({focus:id});if(!add&&state.options.many!==true)select(selection.length===1&&selection[0]===id?[]:[id]);else select(selection.includes(id)?selection.filter(other=>other!==
id):[...selection,id]);const active=focusedIn(root);const elsewhere=active&&active!==root&&root.contains(active)&&!stage.hasFocus();if(!elsewhere)stage.focus(id)}function light(id){const hull=id===state.
hull?"":id;store.set({hull});setView({hull});const shown=state.picture?.hulls.find(item=>item.id===hull);if(!shown)return;camera.reveal(shown.boxes[0]);announce(lit());select(shown.boxes.map(box=>box.
id))}return{select,choose,light,turn(way){const hulls=state.picture?state.picture.hulls:[];if(!hulls.length&&state.picture?.matches.length)setView({mode:"before"});if(!hulls.length)return;const at=hulls.
findIndex(hull=>hull.id===state.hull);const next=at<0?way>0?0:hulls.length-1:(at+way+hulls.length)%hulls.length;light(hulls[next].id)},goTo(id,selected){camera.reveal(boxOf(state,id));if(selected)select(
[id])}}}var COORDINATES_MS=400;function makeReaders({doc,guard,timers,announce},store,model,page){const{camera,loading,hint,slides,closingUp,settle}=page;const{state}=store;function readOptions(){const options=asDict(
model.get("options"));store.set({options,palette:paletteFor(doc,options.theme)});settle()}function expect(){if(state.picture&&isAwaited(state))loading.expect()}const clamp=(step,count)=>Math.min(Math.
max(0,count-1),Math.max(0,step));function readAllSteps(){const steps=readSteps(model.get("steps"));store.set({steps,step:clamp(number(model.get("step")),steps.length)});slides.align()}function readStep(){
const{steps}=state;const next=number(model.get("step"));if(next===state.step)return;store.set({step:steps.length?clamp(next,steps.length):next});expect()}function readView(){const view=asDict(model.get(
"view"));const zoomed=JSON.stringify(view.zoom||null)!==JSON.stringify(state.view.zoom||null);store.set({view,hull:text(view.hull)});if(zoomed&&view.zoom&&number(view.zoom.k)>0)camera.restore(view.zoom);
expect();slides.align()}function readSelection(){const selection=texts(asList(model.get("selection")));if(!isSame(selection,state.selection))store.set({selection})}function readProgress(){const progress=asDict(
model.get("progress"));const share=numberOrNull(progress.share);store.set({progress:progress.text?{text:text(progress.text),share}:null})}function readBoth(insist=false){const next=readPicture(model.get(
"picture"),model.get("coordinates"),insist);if(next==="wait")timers.after("coordinates",COORDINATES_MS,()=>readBoth(true),"picture");else{timers.cancel("coordinates");showPicture(next)}}function showPicture(picture){
const before=state.picture;if(picture&&state.options.numbers===true){for(const box of picture.boxes)box.numbered=box.ids.length===1?String(box.ids[0]):""}const pictures=picturesOf({...state,picture});
const hover=pictures.some(({byId})=>byId.has(state.hover))?state.hover:"";const hull=picture?.hulls.some(({id})=>id===state.hull)?state.hull:"";hint.hide();store.set({picture,hover,hull,found:foundIn(
pictures,state.query)});if(picture&&before&&isOther(picture,before)){announce([slides.words()||captionOf(state)||messageOf(state),picture.note].filter(Boolean).join(". "))}camera.animate(before)}const isOther=(picture,before)=>before.
step!==picture.step||before.mode!==picture.mode||before.caption!==picture.caption;const readThePicture=guard(()=>readBoth(),"picture");return{options:guard(readOptions,"options"),steps:guard(readAllSteps,
"steps"),step:guard(readStep,"step"),view:guard(readView,"view"),selection:guard(readSelection,"selection"),picture:readThePicture,coordinates:readThePicture,progress:guard(readProgress,"progress"),details:guard(
()=>store.set({details:readDetails(model.get("details"))}),"details"),values:guard(()=>closingUp.receive(model.get("values")),"values")}}function makeRequesting(store,{save,request,setView},loading,stepping){const{state}=store;function goBack(){const{picture,steps}=state;stepping.setPlaying(false);if(!picture)return{};const shown={step:Math.
min(steps.length-1,picture.step),view:{...state.view,mode:picture.mode}};store.set(shown);return shown}return{setMode(mode){const allowed=list(state.options.modes);if(state.stopped||allowed.length&&!allowed.
includes(mode))return;setView({mode});loading.expect()},cancel(){request("cancel");save(goBack())},stop(){goBack();store.set({stopped:true})}}}function makeSaving(model,store){let requests=0;return{save:changes=>saveTraits(model,changes),request:name2=>saveTraits(model,{request:{name:name2,n:requests+=1}}),setView(changes){const view={...store.
state.view,...changes};store.set({view});saveTraits(model,{view})}}}var PLAY_MS=1400;var LAZY_MS=80;function makeStepping({timers},store,{save},loading){const{state}=store;function goTo(to,lazily=false){const next=Math.min(state.steps.length-1,Math.max(0,to));if(next===
state.step||next<0||state.options.stepper===false||state.stopped)return;store.set({step:next});if(lazily)timers.after("step",LAZY_MS,()=>save({step:state.step}));else{timers.cancel("step");save({step:next})}
loading.expect()}function nextOf(way,any=!state.onlyChanging){const{steps}=state;let next=state.step+way;while(!any&&steps[next]&&!steps[next].changed&&!steps[next].error)next+=way;return steps[next]?
next:state.step}const walk=(way,any)=>goTo(nextOf(way,any));function goToEnd(){const{steps}=state;const last=Math.max(0,...steps.map((step,at)=>step.changed||step.error?at:0));goTo(state.onlyChanging&&
last>state.step?last:steps.length-1)}function setPlaying(on){timers.cancel("play");store.set({playing:on});if(on&&nextOf(1)===state.step)goTo(0);if(on)timers.after("play",PLAY_MS/2,tick)}function tick(){
if(!state.playing)return;if(state.picture&&state.picture.step===state.step)walk(1);if(nextOf(1)===state.step)setPlaying(false);else timers.after("play",PLAY_MS,tick)}return{goTo,goToEnd,walk,setPlaying}}var makeTiming=({state},{request})=>({isOffered:()=>list(state.options.requests).includes("timing"),start(){if(!state.progress)request("timing")},cancel:()=>request("cancel")});var LANES={cpu:"CPU",cuda:"CUDA","recorded-cpu":"CPU, recorded","recorded-cuda":"CUDA, recorded"};var laneName=lane=>LANES[lane]||lane;var lanesOf=times=>Object.keys(LANES).filter(lane=>lane in times);
var laneClass=lane=>`ce-lane ce-lane-${text(lane).replace("recorded-","")}${lane.startsWith("recorded-")?" ce-lane-recorded":""}`;var timeWords=ms=>ms>=1e3?`${(ms/1e3).toPrecision(3)} s`:ms>=1?`${ms.toPrecision(
3)} ms`:`${(1e3*ms).toPrecision(3)} µs`;var STYLE6=`
.ce-root .ce-lane-track{fill:var(--ce-line)}
.ce-root .ce-lane-cpu{fill:var(--ce-viewLine);stroke:var(--ce-viewLine);background:var(--ce-viewLine);border-color:var(--ce-viewLine)}
.ce-root .ce-lane-cuda{fill:var(--ce-copyLine);stroke:var(--ce-copyLine);background:var(--ce-copyLine);border-color:var(--ce-copyLine)}
.ce-root .ce-lane-recorded{fill-opacity:.35}
`;var[WIDTH,MAX_HEIGHT]=[86,36];var[PART,MAX_PARTS]=[2.4,8];function smallPlates({s},plates,{roles}){const right=Math.max(...plates.map(({at})=>at[0]+at[2]));const bottom=Math.max(...plates.map(({at})=>at[1]+
at[3]));const[left,top]=[Math.min(...plates.map(({at})=>at[0])),Math.min(...plates.map(({at})=>at[1]))];const height=Math.min(MAX_HEIGHT,WIDTH*(bottom-top)/Math.max(1,right-left));const view=`${left-1}\
 ${top-1} ${right-left+2} ${bottom-top+2}`;return s("svg",{viewBox:view,width:WIDTH,height:Math.max(10,height),"aria-hidden":"true"},plates.map(plate=>s("path",{d:pathOf(plate),fill:roles[plate.kind]||
roles.operator})),plates.filter(({calls})=>calls===1).map(({at:[x,y,w,h]})=>s("rect",{x,y,width:w,height:h,fill:"none",stroke:roles.fg,"stroke-width":.9})))}function pathOf({at:[x,y,w,h],calls}){const parts=calls===
1?1:Math.min(MAX_PARTS,Math.ceil(Math.sqrt(calls)));const[across,down]=[w,h].map(size=>Math.max(1,Math.min(parts,Math.floor(size/PART))));const gap=calls===1?0:.7;const[width,height]=[w/across-gap,h/down-
gap];let d="";for(let i=0;i<across*down;i+=1){const[left,top]=[x+i%across*w/across,y+Math.floor(i/across)*h/down];d+=`M${left.toFixed(2)} ${top.toFixed(2)}h${width.toFixed(2)}v${height.toFixed(2)}h${(-width).
toFixed(2)}z`}return d}function makeFilm({make,guard},{state},{goTo}){const{h}=make;const frames=h("div",{class:"ce-frames",role:"group","aria-label":"Film: the steps that changed something"});const sentence=h("p",{class:"c\
e-sentence"});const element=h("div",{class:"ce-film",hidden:true},frames,sentence);let buttons=new Map;function drawFrames(){const shown=state.steps.filter(step=>step.frame);const most=Math.max(1,...shown.
map(step=>step.frame?.calls||0));const longest=Math.max(0,...shown.flatMap(step=>Object.values(step.frame?.times||{})));buttons=new Map(shown.map(step=>[step.index,frameButton(step,most,longest)]));frames.
replaceChildren(...buttons.values())}function frameButton(step,most,longest){const frame=step.frame;const lanes=lanesOf(frame.times);const bars=lanes.length?lanes.map(lane=>bar(laneClass(lane),frame.times[lane]/
longest)):[bar("ce-bar-of-calls",frame.calls/most)];const measured=lanes.map(lane=>`${laneName(lane)} ${timeWords(frame.times[lane])}`).join(", ");const noun=frame.calls===1?"call":"calls";const time=lanes.
length?h("em",{text:timeWords(frame.times[lanes[0]])}):null;return h("button",{type:"button",class:`ce-frame${step.error||step.ok===false?" ce-wrong":""}`,title:[frame.label,frame.sentence,measured].filter(
Boolean).join("\n"),"data-frame":step.index,onclick:guard(()=>goTo(step.index))},frame.plates.length?smallPlates(make,frame.plates,state.palette):null,h("b",{text:frame.calls.toLocaleString("en-US")},
h("span",{class:"ce-said",text:` ${noun} after`}),time),h("span",{text:frame.label}),...bars)}const bar=(name2,share)=>h("i",{class:name2,style:`width:${(100*Math.min(1,share)).toFixed(1)}%`});return{
element,reads:["steps","step","options","palette"],draw(_,changed){if(changed.has("steps")||changed.has("palette"))drawFrames();const{step,steps,options}=state;element.hidden=buttons.size<2||options.stepper===
false||options.film===false||isAsking(state);if(element.hidden)return;for(const[index,button2]of buttons){if(index===step)button2.setAttribute("aria-current","step");else button2.removeAttribute("aria\
-current")}const current=steps[step];sentence.textContent=current?current.frame?.sentence||current.summary:"";const button=buttons.get(step);if(button&&frames.scrollTo)frames.scrollTo({left:button.offsetLeft-
frames.clientWidth/2})}}}var STYLE7=`
.ce-film{flex:none;padding:6px 10px 4px;border-bottom:1px solid var(--ce-line);background:var(--ce-panel)}
.ce-frames{display:flex;gap:6px;overflow-x:auto;padding:3px;scrollbar-width:thin}
.ce-root button.ce-frame{flex:0 0 auto;display:grid;grid-template-columns:auto auto;align-items:center;justify-items:start;gap:0 8px;height:auto;min-width:92px;max-width:190px;padding:4px 8px 5px;text\
-align:left;line-height:1.25;border-color:var(--ce-line)}
.ce-root button.ce-frame[aria-current]{border-color:var(--ce-accent);box-shadow:0 0 0 1.5px var(--ce-accent);background:var(--ce-soft)}
.ce-frame svg{grid-row:1/3;display:block}
.ce-frame b{font-size:16px;font-variant-numeric:tabular-nums}
.ce-frame em{margin-left:8px;font-size:12px;font-style:normal;font-weight:400}
.ce-frame span{font-size:12px;color:var(--ce-muted);max-width:104px;overflow:hidden;text-overflow:ellipsis}
.ce-frame i{grid-column:1/3;height:4px;margin-top:2px;border-radius:2px;background:var(--ce-kept);min-width:2px}
.ce-frame i.ce-lane-recorded{opacity:.55}
.ce-frame.ce-wrong b::after{content:" ✕";color:var(--ce-error)}
.ce-sentence{margin:4px 3px 2px;font-size:14px;min-height:1.4em}
.ce-compact .ce-frame svg{display:none}
.ce-compact .ce-film{padding:3px 8px 2px}
.ce-compact button.ce-frame{min-width:74px}
`;function actionButtons({textButton},{picture,options},beside2,request){const actions=picture&&options.actions!==false?picture.actions:[];return actions.filter(action=>action.beside===beside2).map(action=>textButton(
action.label,()=>request(action.name)))}function makeStrip(ui,{state},{request}){const{doc,h,textButton,announce}=ui;const element=h("div",{class:"ce-strip",hidden:true});function copy(words){const board=doc.
defaultView?.navigator?.clipboard;if(!board)return;board.writeText(words).then(()=>announce("Copied."),()=>announce("The browser did not allow copying."))}return{element,reads:["steps","step","picture",
"options"],draw(){const{picture}=state;const current=state.steps[state.step];const error=current?current.error:"";const message=picture&&picture.boxes.length?messageOf(state):"";const differs=current&&
current.ok===false&&!error?"The output of this step differs from that of the unoptimized circuit.":"";const buttons=messageOf(state)?actionButtons(ui,state,"message",request):[];element.hidden=!(error||
message||differs)&&!buttons.length;element.setAttribute("class",`ce-strip${error||differs?" ce-wrong":""}`);element.replaceChildren(h("p",{text:[error,differs,message].filter(Boolean).join("\n")}),...buttons,
error?textButton("Copy",()=>copy(`${current.title}
${error}`)):h("span",{hidden:true}))}}}var STYLE8=`
.ce-strip{display:flex;flex-wrap:wrap;align-items:center;gap:6px 10px;padding:6px 12px;border-bottom:1px solid var(--ce-line);background:var(--ce-soft)}
.ce-strip.ce-wrong{border-left:4px solid var(--ce-error)}
.ce-strip p{margin:0;flex:1 1 240px;overflow-wrap:anywhere;white-space:pre-wrap}
`;function makeFoot(ui,{state},{request},pager){const{h}=ui;const caption=h("div",{class:"ce-caption"});const note=h("div",{class:"ce-note"});const actions=h("div",{class:"ce-group"});function captionWords(){
const id=state.hover||state.selection[state.selection.length-1]||"";const box=isCompact(state)?boxOf(state,id):void 0;return box?describeBox(box):captionOf(state)}return{element:h("div",{class:"ce-foo\
t"},pager,caption,note,actions),reads:["picture","options","hover","selection"],draw(_,changed){caption.textContent=captionWords();caption.setAttribute("title",caption.textContent);if(!changed.has("pi\
cture")&&!changed.has("options"))return;note.textContent=state.picture?state.picture.note:"";note.setAttribute("title",note.textContent);actions.replaceChildren(...actionButtons(ui,state,"note",request))}}}
var STYLE9=`
.ce-bottom{display:flex;flex:none;flex-wrap:wrap;background:var(--ce-panel)}
.ce-bottom>.ce-legends{flex:10 1 480px}.ce-bottom>.ce-foot{flex:1 1 auto}
.ce-foot{display:flex;flex:none;flex-wrap:wrap;align-items:center;gap:2px 16px;padding:4px 12px;border-top:1px solid var(--ce-line);background:var(--ce-panel);min-height:32px}
.ce-caption{font-weight:600;flex:1 1 auto;min-width:0}
.ce-note{color:var(--ce-muted);font-size:12.5px}
.ce-compact .ce-foot{flex-wrap:nowrap}
.ce-compact .ce-caption{min-height:2.6em;display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2;line-clamp:2;overflow:hidden;overflow-wrap:anywhere;line-height:1.3}
.ce-compact .ce-note{overflow:hidden;text-overflow:ellipsis;white-space:nowrap;flex:0 2 auto;min-width:0}
.ce-foot>:empty{display:none}
.ce-narrow.ce-compact .ce-foot{flex-wrap:wrap}
.ce-narrow.ce-compact .ce-caption{flex-basis:12em}
.ce-narrow.ce-compact .ce-note{max-width:100%}
`;var[HEIGHT,COMPACT_HEIGHT]=[640,420];var makeFrame=({state},root)=>({reads:["options","palette","width","view"],draw(){const compact=isCompact(state);applyPalette(root,state.palette,"ce");const height=state.
options.height??(compact?COMPACT_HEIGHT:HEIGHT);root.style.setProperty("height",heightOf(height,`${HEIGHT}px`));const forms=[compact&&"ce-compact",isDrawer(state)&&"ce-drawer",isNarrow(state)&&"ce-nar\
row"];forms.push(isPresenting(state)&&"ce-slides");root.setAttribute("class",classes("ce-root",...forms))}});var STYLE10=`
.ce-root{--ce-radius:8px;box-sizing:border-box;position:relative;display:flex;flex-direction:column;width:100%;min-height:min-content;overflow:hidden;
  font:13px/1.4 ${FONT};color:var(--ce-fg);background:var(--ce-bg);border:1px solid var(--ce-line);border-radius:var(--ce-radius);text-align:left}
.ce-root *{box-sizing:border-box}
.ce-root [hidden]{display:none!important}
.ce-said{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.ce-bar{display:flex;flex-wrap:wrap;align-items:center;gap:6px 10px;padding:6px 10px;border-bottom:1px solid var(--ce-line);background:var(--ce-panel)}
.ce-group{display:flex;align-items:center;gap:2px}
.ce-root button,.ce-root select,.ce-root input[type=search]{font:inherit;color:inherit;height:28px;min-width:28px;padding:0 8px;margin:0;border:1px solid var(--ce-control);
  border-radius:6px;background:var(--ce-panel);cursor:pointer;white-space:nowrap;line-height:1;box-shadow:none;text-transform:none;letter-spacing:0}
.ce-root button{display:inline-flex;align-items:center;justify-content:center;gap:5px;font-weight:500}
.ce-root button.ce-bare{border-color:transparent;padding:0 6px}
.ce-root button:hover:not(:disabled){background:var(--ce-soft)}
.ce-root button:disabled{opacity:.45;cursor:default}
.ce-root button[aria-pressed=true],.ce-root button[aria-expanded=true]{background:var(--ce-soft);border-color:var(--ce-accent);box-shadow:inset 0 -2px 0 var(--ce-accent)}
.ce-root :focus{outline:none}
.ce-root :focus-visible{outline:2px solid var(--ce-accent);outline-offset:2px}
.ce-root svg.ce-icon{display:block;fill:none;stroke:currentColor;stroke-width:1.6;stroke-linecap:round;stroke-linejoin:round;flex:none}
.ce-root .ce-solid-icon svg.ce-icon path{fill:currentColor}
.ce-label{display:inline-flex;min-height:24px;align-items:center;gap:5px;color:var(--ce-muted);white-space:nowrap}
.ce-label select{color:var(--ce-fg)}
.ce-grow{flex:1 1 auto}
.ce-main{position:relative;display:flex;flex:1 0 clamp(180px,50vh,240px);min-height:0;background:var(--ce-ground)}
.ce-float{position:absolute;display:flex;gap:4px}
`;var SYSTEM_STYLE=`
@media (prefers-reduced-motion:reduce){.ce-root *{animation:none!important;transition:none!important}}
@media (forced-colors:active){
  .ce-root button[aria-pressed=true]{background:Highlight;color:HighlightText;forced-color-adjust:none}
  .ce-stage,.ce-legend svg{forced-color-adjust:none}
  .ce-hull .ce-tint{opacity:0!important}
}
`;var KEYS=[["← →","previous, next step that changes something"],["Shift + ← →","any step"],["Home, End","first, last step"],["[ ]","previous, next match, near miss or conflict"],["Space","play \
on the stepper, fit on the graph"],["↑ ↓","box above, below"],[", .","previous, next box"],["Enter","select the box (with Shift: add it)"],["+ −","zoom"],["f","focus on the selection, again: fit\
 all"],["/","search"],["d","diff, after"],["h","lineage"],["w","why not"],["t","timing"],["Esc","clear, then leave"],["?","this help"],["On slides","→ Space: next, ←: previous, 1 2 Enter: slide 12, f:\
 full screen, Esc: close"]];var POINTER="Drag, or use the map, to pan. Pinch, Ctrl + wheel and the buttons zoom (in a notebook, the wheel alone while the graph has focus). Fill: colour by. Border: cha\
nge. Badge: warning. Hatch: removed. Symbol: kind of node.";var LABEL="Keys and help (?)";function makeHelp({h,guard,textButton},store,{save},root){const{state}=store;let from=null;const element=h("di\
v",{class:"ce-help",role:"region","aria-label":"Keys and help",tabindex:"0",hidden:true});const toggle=h("button",{type:"button","aria-label":LABEL,title:LABEL,"aria-expanded":"false",onclick:guard(()=>open()),
text:"?"});function open(on=!state.showHelp){if(on)from=focusedIn(root);store.set({showHelp:on});if(on)element.focus();else(from&&from.focus&&root.contains(from)?from:toggle).focus()}function setLetters(event){
const options={...state.options,letter_keys:event.target.checked};store.set({options});save({options})}return{element,toggle,open,reads:["showHelp"],draw(){toggle.setAttribute("aria-expanded",String(state.
showHelp));element.hidden=!state.showHelp;if(!state.showHelp)return;const checked=state.options.letter_keys!==false;const letters=h("input",{type:"checkbox",checked,onchange:guard(setLetters)});const row=([
name2,does])=>h("li",{},h("kbd",{text:name2}),h("span",{text:does}));element.replaceChildren(h("h2",{text:state.options.main===true?"Keys":"Keys, while this view has focus"}),h("ul",{},KEYS.map(row)),
h("label",{class:"ce-label"},letters,h("span",{text:"Enable letter keys (each also has a button)"})),h("p",{text:POINTER}),textButton("Close",()=>open(false)))}}}var STYLE11=`
.ce-help{position:absolute;inset:0;z-index:5;overflow:auto;background:var(--ce-panel);padding:12px 16px}
.ce-help h2{margin:0 0 8px;font-size:14px}
.ce-help ul{columns:2 300px;column-gap:28px;margin:0 0 10px;padding:0;list-style:none}
.ce-help li{break-inside:avoid;display:flex;gap:10px;padding:2px 0}
.ce-help kbd{flex:0 0 92px;font:600 12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:none;border:0;padding:0;color:inherit}
`;var ROOM=310;function makeHint({h},area){const element=h("div",{class:"ce-hint","aria-hidden":"true",hidden:true});function factsOf2(box){const many=box.folds>1?`F = ${box.folds}`:box.count>1?`${box.count}\
 layers`:"";const change=box.change==="kept"?"":box.change;const state=[many,`level ${box.level}`,change,box.matched?"matched":""].filter(Boolean).join(" · ");const badges=box.badges.map(badge=>`${badge.
sign} ${badge.text}`);const times=(box.plate?.times||[]).map(bar=>bar.text);return[box.title,box.detail,state,box.fillText,...times,...badges].filter(Boolean)}function show([title,...facts],at,pane){element.
hidden=false;element.replaceChildren(h("b",{text:title}),...facts.map(words=>h("span",{text:words})));const[width,height]=[area.clientWidth||800,area.clientHeight||320];const left=at.x+(pane.offsetLeft||
0);const above=at.y>height/2;element.style.setProperty("left",`${Math.max(4,Math.min(left+14,width-ROOM))}px`);element.style.setProperty("top",above?"auto":`${at.y+18}px`);element.style.setProperty("b\
ottom",above?`${height-at.y+12}px`:"auto")}return{element,isShown:()=>!element.hidden,hide(){element.hidden=true},show:(box,at,pane)=>show(factsOf2(box),at,pane),showEdge:(edge,at,pane)=>show(edgeFacts(
edge),at,pane)}}var STYLE12=`
.ce-hint{position:absolute;z-index:3;max-width:300px;padding:6px 9px;border-radius:6px;border:1px solid var(--ce-control);background:var(--ce-panel);color:var(--ce-fg);box-shadow:0 3px 12px var(--ce-s\
hade);pointer-events:none;font-size:12px}
.ce-hint b{display:block;font-size:12.5px;overflow-wrap:anywhere}
.ce-hint span{display:block;color:var(--ce-muted);overflow-wrap:anywhere}
`;var BOX={x:1.5,y:1.5,width:23,height:13,rx:3};var MARK={x:13,y:8.4,"text-anchor":"middle","dominant-baseline":"central"};var BOLD={style:"font-size:10.5px;font-weight:700"};var EDGE_DASHES={removed:"4\
 3",changed:"6 2 1 2"};var[SIGN_SIZE,SIGN_ROOM]=[10.5,20];function swatch({s},item,palette){const view={viewBox:"0 0 26 16",width:26,height:16,"aria-hidden":"true"};return s("svg",view,swatchParts(s,item,
palette))}function swatchParts(s,item,palette){const{roles,categories}=palette;const{role,channel,sign}=item;const box=look=>s("rect",{...BOX,...look});const mark=(text2,fill)=>s("text",{...MARK,fill,
...BOLD,text:text2});const category=/^category-(\d+)$/.exec(role);if(channel==="cell")return cellParts(s,role,roles);if(channel==="line")return[lineOf2(s,role,roles)];if(channel==="bar")return barParts(
s,role);if(channel==="mark")return markParts(s,role,roles);if(channel==="shape"||isKind(role))return kindParts(s,role,roles);if(channel==="hull"){const style=hullStyle(role,palette);const line2={stroke:style.
stroke,"stroke-width":style.width,"stroke-dasharray":dashes(style.dash)};const tint=box({rx:6,fill:style.fill,"fill-opacity":.3});return[tint,box({rx:6,fill:"none",...line2}),mark(sign||HULLS[role]?.sign||
"",roles.fg)]}if(category){const fill=categories[Number(category[1])%Math.max(1,categories.length)]||roles.box;return[box({fill,stroke:roles.kept}),mark(sign,roles.fg)]}if(role==="missing"){const hatch={
d:"M2 9L9 2M5 14L17 2M13 14L24 3M20 14l4-4",stroke:roles.hatch,"stroke-width":1.6};return[box({fill:roles.box,stroke:roles.kept}),s("path",hatch)]}if(role in CHANGES)return channel==="edge"?edgeParts(
s,role,roles):changeParts(s,item,roles);if(role==="matched"||role==="match"){const look={fill:roles.matchedFill,stroke:roles.matchedLine,"stroke-width":1.6};return[box(look),mark(sign||"M",roles.fg)]}
if(role==="count")return[box({rx:6.5,fill:roles.panel,stroke:roles.fg}),mark("N",roles.fg)];if(role==="stack"){const card={width:18,height:10,rx:3,fill:roles.box,stroke:roles.kept};return[5,2.5,0].map(
by=>s("rect",{x:1+by,y:5.5-by,...card}))}if(channel==="edge"){const copies=/gather|cat|cop/.test(`${role} ${item.text}`);const[fill,stroke]=copies?[roles.copyFill,roles.copy]:[roles.freeFill,roles.free];
const frame=box({rx:4,fill,stroke,"stroke-dasharray":copies?null:"2 2"});return[frame,mark(clip(sign,SIGN_SIZE,SIGN_ROOM,true),stroke)]}const tone=role in roles;const ink=tone&&roles[inkOn(role)]||roles.
fg;const badge=box({x:4,width:18,rx:5,fill:tone?roles[role]:roles.box,stroke:roles.kept});return[badge,mark(clip(sign,SIGN_SIZE,SIGN_ROOM,true),ink)]}function lineOf2(s,role,roles){const dotted=role===
"nearMiss"?{"stroke-dasharray":"2 4","stroke-linecap":"round"}:{};return s("path",{d:"M1 8h24",stroke:roles[role],"stroke-width":2.2,...dotted})}function kindParts(s,kind,roles){const outline2={d:boxPath(
kind,23,13),transform:"translate(13 8)",fill:roles.box,stroke:roles.kept};const pen2={fill:"none",stroke:roles.fg,"stroke-width":2,"stroke-linecap":"round"};return[s("path",outline2),s("path",{d:symbolOf(
kind),transform:"translate(7.8 2.8) scale(.65)",...pen2})]}function cellParts(s,role,roles){const stroke=roles.kept;if(role!=="apart"&&role!=="folded")return[s("rect",{...BOX,fill:roles[role]||roles.operator,
stroke})];const width=role==="apart"?6:8;const cells=[1,9,17].map(x=>s("rect",{x,y:2,width,height:12,fill:roles.operator,stroke}));const frame=s("rect",{x:1,y:2,width:24,height:12,fill:"none",stroke:roles.
fg,"stroke-width":2});return role==="apart"?cells:[...cells,frame]}var barParts=(s,lane)=>[s("rect",{x:1,y:5,width:24,height:6,class:"ce-lane-track"}),s("rect",{x:1,y:5,width:15,height:6,class:laneClass(
lane)})];function markParts(s,role,roles){const stroke={lost:roles.lost,"near-miss":roles.nearMiss}[role]||roles.fg;const dash=role==="near-miss"?"3 3":null;const cross=role==="lost"?"M7 2l12 12M19 2L\
7 14":"";return[s("path",{d:`M7 2h12v12H7z${cross}`,fill:"none",stroke,"stroke-width":2,"stroke-dasharray":dash})]}function edgeParts(s,change,roles){const stroke=change==="kept"?roles.edge:roles[change];
const line2={d:"M1 8h18",stroke,"stroke-width":2,"stroke-dasharray":EDGE_DASHES[change]};return[s("path",line2),s("path",{d:"M25 8l-7-4v8z",fill:stroke})]}function changeParts(s,{role,sign},roles){const kept=role===
"kept";const fill=kept?roles.box:roles[`${role}Fill`];const stroke={stroke:kept?roles.kept:roles[role],"stroke-width":kept?1.2:2};const inner={x:4,y:4,width:18,height:8,rx:1.5,fill:"none",stroke:roles.
changed};return[s("rect",{...BOX,fill,...stroke,"stroke-dasharray":role==="removed"?"4 3":null}),role==="changed"&&s("rect",inner),s("text",{...MARK,fill:roles.fg,...BOLD,text:sign||CHANGES[role].sign})]}var STOPS2=10;function legendItems(make,{picture,palette}){const{h}=make;const items=picture?picture.legend:[];const scale2=items.filter(item=>item.role==="scale");const roles=items.filter(item=>item.
role!=="scale");return[...scale2.length?[scaleItem(make,scale2)]:[],...roles.map(item=>h("li",{},swatch(make,item,palette),h("span",{text:item.text})))]}function scaleItem({h,s},scale2){const id=`${uniqueName(
"ce")}-scale`;const stops=Array.from({length:STOPS2+1},(_,index)=>s("stop",{offset:index/STOPS2,"stop-color":heat(index/STOPS2)}));const bar=s("svg",{width:120,height:14,"aria-hidden":"true"},s("defs",
{},s("linearGradient",{id},stops)),s("rect",{width:120,height:14,rx:3,fill:`url(#${id})`}));const high=scale2.length>1?scale2[scale2.length-1].text:"";return h("li",{},h("span",{text:scale2[0].text}),
bar,high?h("span",{text:high}):null)}function makeLegend({make,h},{state}){const items=h("ul",{class:"ce-legend","aria-label":"Legend"});const folded=h("details",{},h("summary",{text:"Legend"}));const element=h(
"div",{class:"ce-legends"});return{element,reads:["picture","palette","options","width","roomy"],draw(){items.replaceChildren(...legendItems(make,state));const folds=!state.roomy||isNarrow(state);if(folds)
folded.appendChild(items);setChildren(element,[folds?folded:items]);element.setAttribute("class",classes("ce-legends",folds&&"ce-folded"));element.hidden=isCompact(state)||state.options.legend===false||
!items.childNodes.length}}}var STYLE13=`
.ce-legend{display:flex;flex-wrap:wrap;align-items:center;gap:3px 14px;padding:5px 12px;margin:0;border-top:1px solid var(--ce-line);background:var(--ce-panel);font-size:12px;list-style:none}
.ce-legend li{display:inline-flex;align-items:center;gap:6px;margin:0;padding:0}
.ce-legend svg{flex:none}
.ce-side .ce-legend{flex-direction:column;align-items:flex-start;padding:0;border:0}
.ce-legends{position:relative;flex:none}
.ce-folded{border-top:1px solid var(--ce-line);background:var(--ce-panel)}
.ce-folded summary{cursor:pointer;font-weight:600;min-height:26px;padding:3px 12px}
.ce-folded .ce-legend{position:absolute;left:0;right:0;bottom:100%;z-index:4;max-height:180px;overflow:auto;box-shadow:0 -2px 10px var(--ce-shade)}
`;var[BUSY_MS,SLOW_MS]=[300,2e3];function makeLoading({h,textButton,timers,announce},{state},{root,cancel}){const progress=h("div",{class:"ce-progress",hidden:true});const words=h("span",{});const wait=h(
"div",{class:"ce-wait",hidden:true},words,textButton("Cancel",cancel));return{elements:[progress,wait],reads:["picture","step","view"],draw(){if(isAwaited(state))return;timers.cancel("busy");timers.cancel(
"slow");progress.hidden=true;wait.hidden=true;root.removeAttribute("aria-busy")},expect(){timers.after("busy",BUSY_MS,()=>{if(!isAwaited(state))return;progress.hidden=false;root.setAttribute("aria-bus\
y","true")});timers.after("slow",SLOW_MS,()=>{if(!isAwaited(state))return;const step=state.steps[state.step];words.textContent=`Still working: ${step?step.title:`step ${state.step}`} …`;wait.hidden=
false;announce(words.textContent)})}}}var STYLE14=`
.ce-busy .ce-stage{opacity:.45}
.ce-progress{position:absolute;left:0;right:0;top:0;height:3px;overflow:hidden;z-index:4}
.ce-progress::before{content:"";position:absolute;inset:0;width:35%;background:var(--ce-accent);animation:ce-run 1.1s infinite ease-in-out}
.ce-wait{position:absolute;left:50%;top:12px;transform:translateX(-50%);z-index:4;display:flex;align-items:center;gap:8px;padding:5px 6px 5px 12px;border:1px solid var(--ce-line);border-radius:8px;bac\
kground:var(--ce-panel);box-shadow:0 2px 10px var(--ce-shade)}
@keyframes ce-run{from{left:-35%}to{left:100%}}
`;var[WIDTH2,HEIGHT2,EDGE]=[300,200,4];var MIN_STAGE=300;var ZOOMED=1.08;function makeMinimap({h,guard},{state},stage,camera){const element=h("canvas",{class:"ce-map",width:WIDTH2,height:HEIGHT2,"aria-h\
idden":"true",hidden:true});const pen2=typeof element.getContext==="function"?element.getContext("2d"):null;let scale2=null;function colourOf2(box,picture,selected){const{roles}=state.palette;if(box.change!==
"kept")return roles[box.change];if(selected.has(box.id))return roles.accent;const{fill}=fillOf(box,picture,state.palette);return fill===roles.box?roles.kept:fill}function paint(picture){const k=Math.min(
(WIDTH2-2*EDGE)/picture.width,(HEIGHT2-2*EDGE)/picture.height);const[ox,oy]=[(WIDTH2-k*picture.width)/2,(HEIGHT2-k*picture.height)/2];scale2={k,ox,oy};const selected=new Set(state.selection);pen2.clearRect(
0,0,WIDTH2,HEIGHT2);for(const box of picture.boxes){const[x,y]=[ox+k*(box.x-box.w/2),oy+k*(box.y-box.h/2)];pen2.fillStyle=colourOf2(box,picture,selected);pen2.fillRect(x,y,Math.max(2,k*box.w),Math.max(
2,k*box.h))}const{width,height}=stage.viewport();const[w,d]=[width/state.camera.k,height/state.camera.k];pen2.strokeStyle=state.palette.roles.accent;pen2.lineWidth=3;pen2.strokeRect(ox+k*(state.camera.
x-w/2),oy+k*(state.camera.y-d/2),k*w,k*d)}function jump(event){const rect=element.getBoundingClientRect();if(!scale2||!rect.width)return;const x=((event.clientX-rect.left)*WIDTH2/rect.width-scale2.ox)/
scale2.k;const y=((event.clientY-rect.top)*HEIGHT2/rect.height-scale2.oy)/scale2.k;camera.moveTo({k:state.camera.k,x,y})}const drag=event=>{if(event.buttons&1)jump(event)};element.addEventListener("po\
interdown",guard(jump));element.addEventListener("pointermove",guard(drag));function draw(){const panes=stage.panes();const picture=panes.length===1?panes[0].picture:null;const zoomed=state.camera.k>=
camera.whole().k*ZOOMED;const room=!state.showTable&&stage.viewport().height>=MIN_STAGE;element.hidden=!picture||!picture.boxes.length||!zoomed||!room;if(picture&&pen2&&!element.hidden)paint(picture)}
return{element,draw,reads:["picture","palette","camera","selection","showTable"]}}var STYLE15=`
.ce-map{position:absolute;right:10px;bottom:10px;width:150px;height:100px;border:1px solid var(--ce-line);border-radius:6px;background:var(--ce-panel);box-shadow:0 1px 4px var(--ce-shade);cursor:point\
er}
`;var ICONS={first:"M4 3v10M13 3.5L6.5 8l6.5 4.5z",previous:"M11 3.5L4.5 8 11 12.5z",next:"M5 3.5L11.5 8 5 12.5z",last:"M12 3v10M3 3.5L9.5 8 3 12.5z",play:"M4.5 3L13 8l-8.5 5z",pause:"M5 3v10M11 3v10",plus:"\
M8 3v10M3 8h10",minus:"M3 8h10",fit:"M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",close:"M4 4l8 8M12 4l-8 8",table:"M2.5 3h11v10h-11zM2.5 6.5h11M2.5 9.800h11M6.5 6.5V13",panel:"M2.5 3h11v10\
h-11zM9.5 3v10",focus:"M8 1.5v3M8 11.5v3M1.5 8h3M11.5 8h3M8 5.5a2.5 2.5 0 1 0 .01 0z"};var icon=({s},name2)=>s("svg",{viewBox:"0 0 16 16",width:16,height:16,"aria-hidden":"true",class:"ce-icon"},s("pa\
th",{d:ICONS[name2]}));var SOLID={class:"ce-solid-icon"};function countHulls(hulls){const counts=new Map;for(const{kind}of hulls)counts.set(kind,(counts.get(kind)||0)+1);const words=[...counts].map(([kind,count])=>{const name2=count===1?HULL_WORDS[kind]:HULL_PLURALS[kind];
return`${count} ${name2||kind}`});return words.join(", ")}function makePager({h,button},{state},turn){const words=h("span",{});const group={class:"ce-pager",role:"group","aria-label":"Matches and near\
 misses",hidden:true};const element=h("div",group,button("Previous match ([)","previous",()=>turn(-1),SOLID),button("Next match (])","next",()=>turn(1),SOLID),words);return{element,reads:["picture","h\
ull"],draw(){const hulls=state.picture?state.picture.hulls:[];const at=hulls.findIndex(hull=>hull.id===state.hull);element.hidden=!hulls.length;words.textContent=at<0?countHulls(hulls):`${at+1} of ${hulls.
length}: ${describeHull(hulls[at])}`;words.setAttribute("title",words.textContent)},words:()=>words.textContent}}var STYLE16=`
.ce-pager{display:flex;gap:4px;align-items:center;flex:0 1 auto;min-width:0;max-width:min(100%,460px)}
.ce-pager span{overflow:hidden;text-overflow:ellipsis;white-space:nowrap;padding:0 6px}
`;var[STEPS,STORY]=["steps","circuit"];var NEXT=["ArrowRight","ArrowDown","PageDown"," ","Enter"];var PREVIOUS=["ArrowLeft","ArrowUp","PageUp"];function framesOf({steps}){return steps.flatMap(({frame,index})=>frame?
{name:STEPS,step:index,mode:"diff",title:frame.label.replace(/^./,letter=>letter.toUpperCase()),sentence:frame.sentence}:[])}var scenesOf=({steps})=>steps.flatMap(({scenes,index})=>scenes.map(scene=>({
...scene,step:index})));var slidesOf=state=>text(state.view.slides)===STEPS?framesOf(state):scenesOf(state);function numberOf({view,step},slides){if(text(view.slides)===STEPS)return Math.max(0,slides.
filter(slide=>slide.step<=step).length-1);return Math.max(0,slides.findIndex(({name:name2})=>name2===view.slides))}function makeSlides({h,textButton,guard},store,{save},loading,{root,copy}){const{state}=store;
let typed="";let formerMode="diff";const title=h("h2",{});const sentence=h("p",{});const head2=h("div",{class:"ce-slide-head"},title,sentence);const position=h("span",{class:"ce-slide-position"});const previous=textButton(
"Previous (←)",()=>turn(-1));const next=textButton("Next (→)",()=>turn(1));const foot=h("div",{class:"ce-slide-foot",role:"group","aria-label":"Slides"},position,previous,next,copy,textButton("Ful\
l screen (f)",()=>flipFullScreen()),textButton("Close (Esc)",()=>close()));const story=textButton("Story",()=>open(STORY));const slides=textButton("Slides",()=>open(STEPS));story.setAttribute("title",
"Play the story: the compilation in a few scenes");slides.setAttribute("title","Slides, for talks: one step on the whole window");const buttons=h("div",{class:"ce-group"},story,slides);function show(slide){
if(!slide||state.stopped)return;const modes=state.options.modes;const mode=!Array.isArray(modes)||modes.includes(slide.mode)?slide.mode:state.view.mode;const changes={step:slide.step,view:{...state.view,
slides:slide.name,mode}};store.set({...changes,playing:false});save(changes);loading.expect()}function open(kind){formerMode=text(state.view.mode,formerMode);const view={...state.view,slides:kind};store.
set({view});show(current());root.focus()}function close(){typed="";const view={...state.view,slides:"",mode:formerMode};store.set({view});save({view});loading.expect();if(root.ownerDocument.fullscreenElement)
root.ownerDocument.exitFullscreen().catch(()=>{})}function turn(way){const shown=slidesOf(state);go(numberOf(state,shown)+way)}function go(number2){typed="";const shown=slidesOf(state);show(shown[Math.
min(shown.length-1,Math.max(0,number2))]);drawPosition()}function flipFullScreen(){const doc=root.ownerDocument;const done=doc.fullscreenElement?doc.exitFullscreen():root.requestFullscreen?.();done?.catch?.(
()=>{})}function type(digits){typed=digits;drawPosition()}function press(key,pressing){if(pressing&&(key===" "||key==="Enter"))return false;if(/^[0-9]$/.test(key))type((typed+key).slice(-3));else if(key===
"Enter"&&typed)go(Number(typed)-1);else if(key==="Backspace"&&typed)type(typed.slice(0,-1));else if(key==="Escape"&&typed)type("");else if(key==="Escape")close();else if(NEXT.includes(key))turn(1);else if(PREVIOUS.
includes(key)||key==="Backspace")turn(-1);else if(key==="Home")go(0);else if(key==="End")go(Infinity);else if(key==="f"&&state.options.letter_keys!==false)flipFullScreen();else return false;return true}
function drawPosition(){const shown=slidesOf(state);const number2=numberOf(state,shown);position.textContent=typed?`Go to ${typed}: Enter`:`${number2+1} of ${shown.length}`;previous.disabled=number2<=
0;next.disabled=number2>=shown.length-1}const current=()=>{const shown=slidesOf(state);return shown[numberOf(state,shown)]};return{head:head2,foot,buttons,press:({key},pressing)=>press(key,pressing),align:guard(
()=>{if(!isPresenting(state)||!state.steps.length)return;const slide=current();if(slide&&slide.name!==STEPS&&slide.step!==state.step)show(slide)}),words:()=>isPresenting(state)&&current()?`${current()?.
title}. ${current()?.sentence}`:"",reads:["steps","step","view","options"],draw(){const told=state.options.stepper!==false&&state.options.film!==false&&!isAsking(state);story.hidden=!told||scenesOf(state).
length<2;slides.hidden=!told||framesOf(state).length<2;buttons.hidden=story.hidden&&slides.hidden;head2.hidden=foot.hidden=!isPresenting(state);if(head2.hidden)return;title.textContent=current()?.title??
"";sentence.textContent=current()?.sentence??"";drawPosition()}}}var STYLE17=`
.ce-root.ce-slides{position:fixed;inset:0;z-index:2000;height:auto!important;width:auto;border:0;border-radius:0;font-size:16px;padding:0 24px}
.ce-slides>.ce-bar,.ce-slides>.ce-film,.ce-slides>.ce-strip,.ce-slides>.ce-bottom,.ce-slides .ce-closeup,.ce-slides .ce-side,.ce-slides .ce-table,.ce-slides .ce-help,.ce-slides .ce-zoom,.ce-slides .ce\
-map,.ce-slides .ce-modes{display:none!important}
.ce-root.ce-slides:focus-visible{outline:none}
.ce-slide-head{flex:none;padding:18px 0 10px}
.ce-slide-head h2{margin:0;font-size:34px;line-height:1.2;font-weight:650}
.ce-slide-head p{margin:6px 0 0;font-size:22px;line-height:1.35;min-height:2.7em}
.ce-slide-foot{flex:none;display:flex;gap:8px;align-items:center;padding:10px 0 12px;font-size:16px}
.ce-root .ce-slide-foot button{height:34px;font-size:16px}
.ce-slide-position{margin-right:auto;font-size:18px;font-weight:600;font-variant-numeric:tabular-nums}
.ce-slides .ce-runs{font-size:18px}
.ce-slides .ce-run{height:26px}
.ce-slides .ce-main{background:none}
`;var LENGTH=84;var[OFF,THICK,GAP2]=[6,5,1.5];var barsElement=(s,{plate})=>(plate?.times||[]).map(({lane,share})=>({share,track:s("rect",{class:"ce-lane-track"}),bar:s("rect",{class:laneClass(lane)})}));
function layBars(bars,box,k){const[thick,gap]=[THICK,GAP2].map(size=>size/Math.min(1,k));bars.forEach(({share,track,bar},at)=>{const y=box.y+box.h/2+OFF+at*(thick+gap);for(const[rect,width]of[[track,LENGTH],
[bar,Math.max(share*LENGTH,1/k)]]){rect.setAttribute("x",box.x-LENGTH/2);rect.setAttribute("y",y);rect.setAttribute("width",width);rect.setAttribute("height",thick)}});return bars.length?OFF+bars.length*
(thick+gap):0}var[TITLE2,LINE]=[14,12.5];var[ABOVE,ABOVE_DEEP,BELOW]=[13,18,10];var MARGIN4=30;var[THREE,TWO]=[.66,.5];function labelElement2({s},box){const ring=s("rect",{class:"ce-ring",rx:6});const area={x:box.x-
box.w/2,y:box.y-box.h/2,width:box.w,height:box.h};const face=s("rect",{class:"ce-plate-face",...area});const texts2=["ce-plate-title","ce-plate-calls","ce-plate-line","ce-plate-line"].map(name3=>s("te\
xt",{class:name3}));const attributes={role:"option","aria-selected":"false",tabindex:"-1","data-id":box.id};const bars=barsElement(s,box);const look=s("g",{"aria-hidden":"true"},ring,face,...bars.flatMap(
({track,bar})=>[track,bar]),texts2);const name2=s("text",{class:"ce-name",x:box.x,y:box.y,text:describeBox(box)});const group=s("g",{class:"ce-box ce-plate",...attributes},name2,look);return{box,group,
ring,bars,texts:texts2}}var titleRect=({x,y,w,h,plate})=>{const half=Math.max(w,(plate?.room||0)-MARGIN4)/2;const bottom=y-h/2-(plate?.gap===0?ABOVE_DEEP:ABOVE)+3;return{l:x-half,r:x+half,t:bottom-TITLE2-
3,b:bottom}};function layLabel({box,ring,bars,texts:texts2},k,least){const plate=box.plate;if(!plate)return;const[size,small]=[Math.max(TITLE2,least/k),Math.max(LINE,least/k)];const[left,top]=[box.x-box.
w/2,box.y-box.h/2];const above=plate.gap===0?ABOVE_DEEP:ABOVE;const below=[plate.calls,plate.news||plate.shape,plate.news?plate.shape:plate.reads];const shown=below.filter(Boolean).slice(0,k<TWO?1:k<THREE?
2:3);const gap=layBars(bars,box,k)||BELOW;const height=size+above+box.h+2+gap+shown.length*small*1.25;for(const[name2,value]of[["x",left-6],["y",top-above-size],["width",box.w+12],["height",height]]){
ring.setAttribute(name2,value)}const words=[box.title,...shown];texts2.forEach((text2,at)=>{const font=at<1?size:small;text2.textContent=words[at]===void 0?"":clip(words[at],font,plate.room,at<2);text2.
setAttribute("x",box.x);text2.setAttribute("y",at<1?top-above:top+box.h+gap+small+(at-1)*small*1.25);text2.setAttribute("font-size",font.toFixed(2));text2.setAttribute("class",classOf(at,plate.news&&at===
2))})}var classOf=(at,isNews)=>at===0?"ce-plate-title":at===1?"ce-plate-calls":isNews?"ce-plate-news":"ce-plate-line";var STYLE18=`
.ce-stage text.ce-plate-title,.ce-stage text.ce-plate-calls,.ce-stage text.ce-plate-line,.ce-stage text.ce-plate-news{dominant-baseline:auto;text-anchor:middle;fill:var(--ce-fg);paint-order:stroke;str\
oke:var(--ce-ground);stroke-width:3px;stroke-linejoin:round}
.ce-plate-title,.ce-plate-calls{font-weight:600}
.ce-stage text.ce-plate-line{fill:var(--ce-muted)}
.ce-stage text.ce-plate-news{font-style:italic}
.ce-plates .ce-hull .ce-tint,.ce-plates .ce-hull.ce-lit .ce-tint{opacity:.1}
.ce-plate-face{fill:transparent;pointer-events:all}
.ce-plate .ce-ring{vector-effect:non-scaling-stroke}
`;var[SIZE,LINE2]=[12,1.25];var WORDED=.6;function linkElement({s},link){const d=`M${link.points.map(({x,y})=>`${x} ${y}`).join("L")}`;const texts2=link.lines.map(line2=>s("text",{class:"ce-reason",text:line2}));
const group=s("g",{class:"ce-link"},["ce-link-line","ce-link-reach"].map(name2=>s("path",{d,class:name2})),texts2);return{link,group,texts:texts2}}function reasonPoint({at,points}){const[one,other]=[points[1],
points[points.length-2]];return at||{x:(one.x+other.x)/2,y:(one.y+other.y)/2}}function layLink({link,group,texts:texts2},k,least,lit){const{x,y}=reasonPoint(link);const size=Math.max(SIZE,least/k);const shown=lit||
Boolean(link.at)&&k>=WORDED;group.setAttribute("class",`ce-link${lit?" ce-lit":""}`);texts2.forEach((text2,line2)=>{text2.setAttribute("visibility",shown?"visible":"hidden");text2.setAttribute("font-s\
ize",size.toFixed(2));text2.setAttribute("x",x);text2.setAttribute("y",y+LINE2*size*(line2+.75))})}var STYLE19=`
.ce-link-line{fill:none;stroke:var(--ce-nearMiss);stroke-width:2px;stroke-dasharray:2 5;stroke-linecap:round;vector-effect:non-scaling-stroke}
.ce-link-reach{fill:none;stroke:transparent;stroke-width:14px;pointer-events:stroke;vector-effect:non-scaling-stroke}
.ce-stage .ce-link:hover text.ce-reason{visibility:visible}
.ce-link.ce-lit .ce-link-line,.ce-link:hover .ce-link-line{stroke-width:3.5px}
.ce-stage text.ce-reason{dominant-baseline:auto;text-anchor:middle;font-style:italic;fill:var(--ce-fg);paint-order:stroke;stroke:var(--ce-ground);stroke-width:4px;stroke-linejoin:round}
`;function around2(areas){const x=Math.min(...areas.map(area=>area.x));const y=Math.min(...areas.map(area=>area.y));const right=Math.max(...areas.map(area=>area.x+area.w));const bottom=Math.max(...areas.
map(area=>area.y+area.h));return{x,y,w:right-x,h:bottom-y}}function relatives(origins){const found=new Map;const add=(one,other)=>found.set(one,[...found.get(one)||[],other]);for(const[made,...replaced]of origins){
for(const old of replaced){add(made,old);add(old,made)}}return found}function movement(cells,before,origins){const was=new Map(before.flatMap(({cell,area})=>cell.layer<0?[]:[[cell.layer,area]]));const is=new Map(
cells.flatMap(cell=>cell.layer<0?[]:[[cell.layer,cell.area]]));const kin=relatives(origins);const placesOf=(layer,places)=>(kin.get(layer)||[]).flatMap(other=>places.get(other)??[]);const moving=cells.
map(cell=>{const known3=was.get(cell.layer);if(known3)return{cell,from:known3,fades:false};const parents=placesOf(cell.layer,was);return{cell,from:parents.length?around2(parents):cell.area,fades:true}});
const leaving=before.flatMap(({cell,area})=>{if(is.has(cell.layer))return[];const heirs=placesOf(cell.layer,is);return heirs.length?[{cell:{...cell,area},to:around2(heirs)}]:[]});return{moving,leaving}}
var between2=(a,b,e)=>({x:a.x+(b.x-a.x)*e,y:a.y+(b.y-a.y)*e,w:a.w+(b.w-a.w)*e,h:a.h+(b.h-a.h)*e});var nameOf2=(box,index)=>`${box} ${index}`;function relativesOf(picture,box,index){const[down,up]=neighbours(picture);const plate=picture.byId.get(box)?.plate;const count=plate?plate.cells.length:0;const start=index>=
0?[nameOf2(box,index)]:Array.from({length:count},(_,at)=>nameOf2(box,at));const found=new Set(start);for(const next of[down,up]){const queue=[...start];for(let name2=queue.pop();name2!==void 0;name2=queue.
pop()){for(const other of next.get(name2)||[]){if(found.has(other))continue;found.add(other);queue.push(other)}}}return found}var known2=new WeakMap;function neighbours(picture){const before=known2.get(
picture);if(before)return before;const maps=[new Map,new Map];const add=(map,one,other)=>{const others=map.get(one);if(others)others.push(other);else map.set(one,[other])};for(const{source,target,pairs}of picture.
edges){for(let at=0;at+1<pairs.length;at+=2){const[from,to]=[nameOf2(source.id,pairs[at]),nameOf2(target.id,pairs[at+1])];add(maps[0],to,from);add(maps[1],from,to)}}known2.set(picture,maps);return maps}var[ROUND,PARTED]=[9,4];var NUMBERED2=2.25;var MAX_LINES=6e3;var[DEEP,DEEPER]=[4,8];var FAINT=.16;var MIDDLE=.18;var MAX_CROSS=12;function paintDepth({pen:pen2,picture,palette},box,alpha){const{fill}=colourOf(
box,picture,palette);for(const by of[DEEPER,DEEP]){pen2.globalAlpha=.38*alpha;pen2.fillStyle=fill;pen2.fillRect(box.x-box.w/2+by,box.y-box.h/2-by,box.w,box.h);pen2.globalAlpha=.6*alpha;pen2.strokeStyle=
palette.roles.fg;pen2.lineWidth=1;pen2.strokeRect(box.x-box.w/2+by,box.y-box.h/2-by,box.w,box.h)}pen2.globalAlpha=1}function paintFrame({pen:pen2,palette},box,alpha){pen2.globalAlpha=alpha;pen2.strokeStyle=
palette.roles.fg;pen2.lineWidth=2.2;pen2.strokeRect(box.x-box.w/2,box.y-box.h/2,box.w,box.h);pen2.globalAlpha=1}function paintCells(canvas,box,cells){const{pen:pen2,picture,palette,k,lit,values}=canvas;
const{fill,ink,hatch}=colourOf(box,picture,palette);const forced=palette.forced;for(const{cell,area,alpha}of cells){const side=k*Math.min(area.w,area.h);pen2.globalAlpha=lit&&!lit.has(nameOf2(box.id,cell.
index))?alpha*FAINT:alpha;const value=values?valueOf(values,box,cell.index):null;const own=value?heat(value[1]):values?palette.roles.box:fill;pen2.fillStyle=own;pen2.beginPath();if(!cell.closed&&side>
ROUND)pen2.roundRect(area.x,area.y,area.w,area.h,Math.min(4,area.w/5,area.h/5));else pen2.rect(area.x,area.y,area.w,area.h);pen2.fill();const outlined=forced||hatch||!cell.closed;if(outlined?side>PARTED:
side>2*PARTED){pen2.strokeStyle=outlined?palette.roles.kept:palette.roles.ground;pen2.lineWidth=outlined?.8:1;pen2.stroke()}if(side>NUMBERED2*canvas.text&&cell.layer>=0)paintNumber(canvas,cell,area,value?
inkOnHeat(own):ink)}pen2.globalAlpha=1}var inkOnHeat=fill=>luminance(fill)>MIDDLE?"#000000":"#ffffff";function paintNumber({pen:pen2,k,text:text2},cell,area,ink){pen2.font=`${text2/k}px ${FONT}`;pen2.
textAlign="center";pen2.textBaseline="middle";pen2.fillStyle=ink;pen2.fillText(String(cell.layer),area.x+area.w/2,area.y+area.h/2)}function paintMarks({pen:pen2,palette,k},box,cells){const{roles}=palette;
const plate=box.plate;for(const[mark,indices]of plate?Object.entries(plate.marks):[]){const chosen=new Set(indices);pen2.beginPath();for(const{cell,area}of cells){if(!chosen.has(cell.index))continue;pen2.
rect(area.x-1,area.y-1,area.w+2,area.h+2);if(mark!=="lost")continue;const[side,right]=[Math.min(MAX_CROSS,area.w/2,area.h/2),area.x+area.w];pen2.moveTo(right-side,area.y);pen2.lineTo(right,area.y+side);
pen2.moveTo(right,area.y);pen2.lineTo(right-side,area.y+side)}pen2.strokeStyle={lost:roles.lost,"near-miss":roles.nearMiss}[mark]||roles.fg;pen2.lineWidth=Math.max(mark==="near-miss"?2.4:1.8,1.2/k);pen2.
setLineDash(mark==="near-miss"?[3,3]:[]);pen2.stroke();pen2.setLineDash([])}}function paintLines({pen:pen2,picture,palette,k,lit},areas){const{edges}=picture;const many=edges.reduce((sum,edge)=>sum+edge.
pairs.length/2,0)>MAX_LINES;for(const edge of edges){const{source,target,pairs}=edge;const around3=edge.bends.length>1;pen2.beginPath();if(around3||!pairs.length||many&&!lit){const touched=!lit||edgeIsLit(
edge,lit);if(!touched)continue;if(around3)polyline(pen2,edge.bends);else curve2(pen2,areaOf(source),areaOf(target));pen2.lineWidth=Math.min(5,1.4+.5*Math.log2(Math.max(1,edge.count)))}else{for(let at=0;at+
1<pairs.length;at+=2){const[one,other]=[nameOf2(source.id,pairs[at]),nameOf2(target.id,pairs[at+1])];if(lit&&!(lit.has(one)&&lit.has(other)))continue;const[from,to]=[areas.get(one),areas.get(other)];if(from&&
to)curve2(pen2,from,to)}pen2.lineWidth=Math.max(lit?1.8:1.1,.8/k)}pen2.strokeStyle=edge.read?edge.copied?palette.roles.copyLine:palette.roles.viewLine:palette.roles.edge;pen2.globalAlpha=lit?1:edge.read?
.75:.5;pen2.stroke()}pen2.globalAlpha=1}function edgeIsLit({source,target,pairs},lit){for(let at=0;at+1<pairs.length;at+=2){if(lit.has(nameOf2(source.id,pairs[at]))&&lit.has(nameOf2(target.id,pairs[at+
1])))return true}return false}var areaOf=({x,y,w,h})=>({x:x-w/2,y:y-h/2,w,h});function curve2(pen2,a,b){const[x1,y1,x2,y2]=[a.x+a.w,a.y+a.h/2,b.x,b.y+b.h/2];const bend=Math.max(12,Math.abs(x2-x1)/2);pen2.
moveTo(x1,y1);pen2.bezierCurveTo(x1+bend,y1,x2-bend,y2,x2,y2)}function polyline(pen2,points){pen2.moveTo(points[0].x,points[0].y);for(let at=1;at+1<points.length;at+=1){pen2.arcTo(points[at].x,points[at].
y,points[at+1].x,points[at+1].y,5)}const last=points[points.length-1];pen2.lineTo(last.x,last.y)}var[HOLD_MS,MERGE_MS]=[750,560];var TAG=11;function docked(before,shown){if(shown.step<=before.step)return[];return shown.matches.flatMap(({nodes,...match})=>{const boxes=nodes.flatMap(id=>before.byId.
get(id)??[]);return boxes.length===nodes.length?[{...match,boxes}]:[]})}function byBox(cells){const found=new Map;for(const shown of cells){const own=found.get(shown.cell.box);if(own)own.push(shown);else
found.set(shown.cell.box,[shown])}return found}function platesScene(make,palette){const{h,s}=make;const name2=uniqueName("ce");const canvas=h("canvas",{class:"ce-canvas","aria-hidden":"true"});const pen2=typeof canvas.
getContext==="function"?canvas.getContext("2d"):null;const defs=s("defs");const labelLayer=s("g",{class:"ce-boxes",role:"presentation"});const[hullLayer,tagLayer]=["ce-hulls","ce-tags"].map(layer=>s("\
g",{class:layer,"aria-hidden":"true"}));const linkLayer=s("g",{"aria-hidden":"true"});const world=s("g",{role:"presentation"},linkLayer,hullLayer,labelLayer,tagLayer);const overlay=s("svg",{class:"ce-\
stage",role:"listbox","aria-multiselectable":"true"},defs,world);const stage=h("div",{class:"ce-stage ce-plates"},canvas,overlay);let picture=null;let labels=[];let links=[];let hulls=[];let plan={moving:[],
leaving:[]};let hold=0;let former=new Set;let marks={selected:new Set,found:null,hull:"",hover:"",focus:"",cell:-1,values:null};let camera={k:1,x:0,y:0};let[width,height,t]=[0,0,1];let text2=12;let docking=null;
let waiting=0;let closed=false;const later=()=>{if(!waiting&&!closed)waiting=frameOf(paint)};const state=()=>({palette:palette(),k:camera.k,text:text2});const progress=()=>ease(Math.max(0,t-hold)/(1-hold));
function shownCells(){const e=progress();return plan.moving.map(({cell,from,fades})=>({cell,area:t>=1?cell.area:between2(from,cell.area,e),alpha:fades&&t<1?e:1}))}function begin(){const sharp=globalThis.
devicePixelRatio||1;const{k,x,y}=camera;if(canvas.width!==Math.round(width*sharp))canvas.width=Math.round(width*sharp);if(canvas.height!==Math.round(height*sharp))canvas.height=Math.round(height*sharp);
pen2.setTransform(1,0,0,1,0,0);pen2.clearRect(0,0,canvas.width,canvas.height);pen2.setTransform(sharp*k,0,0,sharp*k,sharp*(width/2-k*x),sharp*(height/2-k*y))}function paint(){waiting=0;if(!pen2||!picture||
closed)return;begin();draw(pen2,picture)}function draw(pen3,shown){const known3=shown.edges.every(({pairs})=>pairs.length);const lit=known3&&t>=1&&marks.hover?relativesOf(shown,marks.hover,marks.cell):
null;const ink={...state(),pen:pen3,picture:shown,lit,values:marks.values};const cells=shownCells();paintLines(ink,new Map(cells.map(({cell,area})=>[nameOf2(cell.box.id,cell.index),area])));const e=progress();
for(const{cell,to}of t<1?plan.leaving:[]){const area=between2(cell.area,to,e);paintCells({...ink,lit:null},cell.box,[{cell,area,alpha:1-e}])}for(const[box,own]of byBox(cells)){const isOne=box.plate?.gap===
0;const alpha=former.has(box.id)?1:e;if(isOne)paintDepth(ink,box,alpha);paintCells(ink,box,own);if(isOne)paintFrame(ink,box,alpha);if(t>=1)paintMarks(ink,box,own)}}function drawHulls(shown){const laid=layHulls(
shown,(picture||shown).boxes.map(titleRect));hulls=laid.map(item=>hullElement(make,item,palette(),hatch=>`url(#${name2}-${hatch})`));hullLayer.replaceChildren(...hulls.map(({group})=>group));tagLayer.
replaceChildren(...hulls.map(({tag})=>tag).filter(Boolean));layTags()}function layTags(){const size=Math.max(1,text2/(TAG*camera.k));for(const{tag,place}of hulls)tag?.setAttribute("transform",`${place}\
 scale(${short(size)})`)}function layLinks(){for(const drawn of links){const ends=[drawn.link.source.id,drawn.link.target.id];layLink(drawn,camera.k,text2,ends.includes(marks.hover)||ends.some(id=>marks.
selected.has(id)))}}return{stage,list:overlay,recolour(){if(picture)drawHulls(picture);later()},show(shown){const before=picture?shownCells():[];const docks=picture?docked(picture,shown):[];const origins=[
...picture?.origins||[],...shown.origins];former=new Set(picture?.boxes.map(box=>box.id));picture=shown;plan=movement(allCells(shown),before,origins);labels=shown.boxes.map(box=>labelElement2(make,box));
labelLayer.replaceChildren(...labels.map(({group})=>group));links=shown.links.map(link=>linkElement(make,link));linkLayer.replaceChildren(...links.map(({group})=>group));layLinks();hold=docks.length?HOLD_MS/
(HOLD_MS+MERGE_MS):0;docking=docks.length?{...shown,hulls:docks}:null;drawHulls(docking||shown);for(const label of labels)layLabel(label,camera.k,text2);t=1;later();return hold?HOLD_MS+MERGE_MS:MERGE_MS},
frame(at){t=at;if(docking&&picture&&t>hold){docking=null;drawHulls(picture)}const seen=short(t>=1?1:progress()**2);labelLayer.setAttribute("opacity",seen);linkLayer.setAttribute("opacity",seen);for(const layer of[
hullLayer,tagLayer])layer.setAttribute("opacity",docking?"1":seen);later()},progress:at=>Math.max(0,at-hold)/(1-hold),look(next,w,h2,least=12){const scaled=next.k!==camera.k||least!==text2;camera=next;
text2=least;[width,height]=[w,h2];overlay.setAttribute("width",w);overlay.setAttribute("height",h2);const{k,x,y}=camera;const corner=`${short(w/2-k*x)} ${short(h2/2-k*y)}`;world.setAttribute("transfor\
m",`translate(${corner}) scale(${Math.round(k*1e4)/1e4})`);if(scaled)for(const label of labels)layLabel(label,k,text2);if(scaled)layTags();if(scaled)layLinks();later()},mark(next){marks=next;const{selected,
found,hull,hover,focus}=next;const lit=picture&&hull?picture.hulls.find(item=>item.id===hull):null;const members=lit?new Set(lit.boxes.map(box=>box.id)):null;const stop=picture?.byId.has(focus)?focus:
picture?.boxes[0]?.id;for(const{box,group}of labels){const dim=members&&!members.has(box.id)||found&&!found.has(box.id);const on=selected.has(box.id);const own=[on&&"ce-selected",dim&&"ce-dim",found?.
has(box.id)&&"ce-found"];group.setAttribute("class",classes("ce-box ce-plate",box.id===hover&&"ce-hover",...own));group.setAttribute("aria-selected",String(on));group.setAttribute("tabindex",box.id===
stop?"0":"-1")}for(const{hull:item,group,tag}of hulls){const own=[item===lit&&"ce-lit",lit&&item!==lit&&"ce-dim"];group.setAttribute("class",classes("ce-hull",`ce-hull-${item.kind}`,...own));if(tag)tag.
setAttribute("class",classes("ce-tag",`ce-tag-${item.kind}`,...own))}layLinks();later()},focus(id){labels.find(({box})=>box.id===id)?.group.focus({preventScroll:true})},canvasSvg(){const writer=svgPen();
const{k,x,y}=camera;writer.setTransform(k,0,0,k,width/2-k*x,height/2-k*y);if(picture)draw(writer,picture);return writer.element()},places:()=>new Map(picture?.boxes.map(box=>[box.id,{x:box.x,y:box.y}])),
close(){closed=true;if(waiting)unframe(waiting);stage.remove()}}}function makeBrush(make,pen2){const paths=new Map;const hatches=new Map;return{pen:pen2,outline(kind,w,h){const key=`${kind} ${w} ${h}`;const known3=paths.get(key);if(known3)return known3;const path=new Path2D(
boxPath(kind,w,h));paths.set(key,path);return path},hatch(stroke){if(!hatches.has(stroke))hatches.set(stroke,pen2.createPattern(hatchTile(make,stroke),"repeat"));return hatches.get(stroke)},recolour:()=>hatches.
clear(),write(font,fill,words,x,y){pen2.fillStyle=fill;pen2.font=font;pen2.fillText(words,x,y)},panel({x,y,w,h,r},fill,stroke,width=1){pen2.beginPath();pen2.roundRect(x,y,w,h,r);pen2.fillStyle=fill;pen2.
fill();if(!stroke)return;pen2.strokeStyle=stroke;pen2.lineWidth=width;pen2.stroke()}}}function hatchTile({h},stroke){const tile=h("canvas",{width:8,height:8});const ink=tile.getContext("2d");ink.strokeStyle=
stroke;ink.lineWidth=1.6;ink.beginPath();for(const shift of[-8,0,8]){ink.moveTo(shift,8);ink.lineTo(shift+8,0)}ink.stroke();return tile}var PLAIN=.25;var RING=5;function paintBox(brush,box,picture,palette,marks,k,words){const{pen:pen2}=brush;const{roles}=palette;const{fill,ink,hatch}=fillOf(box,picture,palette);const border=borderOf(box,
palette,picture);const hatchStroke=hatch==="removed"?roles.removed:roles.hatch;paintRing(pen2,box,marks,roles.accent,k);pen2.fillStyle=fill;pen2.strokeStyle=border.stroke;pen2.lineWidth=Math.max(border.
width,.8/k);if(k<PLAIN){pen2.fillRect(-box.w/2,-box.h/2,box.w,box.h);pen2.strokeRect(-box.w/2,-box.h/2,box.w,box.h);if(!hatch)return;pen2.fillStyle=brush.hatch(hatchStroke);pen2.fillRect(-box.w/2,-box.
h/2,box.w,box.h);return}const path=brush.outline(box.kind,box.w,box.h);pen2.setLineDash(border.dash);for(const offset of box.folds>1?STACK:[]){pen2.translate(offset,-offset);pen2.fill(path);pen2.stroke(
path);pen2.translate(-offset,offset)}pen2.fill(path);if(hatch){pen2.globalAlpha*=.6;pen2.fillStyle=brush.hatch(hatchStroke);pen2.fill(path);pen2.globalAlpha/=.6}pen2.stroke(path);pen2.setLineDash([]);
if(box.change==="changed"){pen2.lineWidth=1.2;pen2.stroke(brush.outline(box.kind,box.w-7,box.h-7))}paintSymbol(pen2,box,ink,words);pen2.textBaseline="middle";if(words)paintWords(brush,box,ink);paintSigns(
brush,box,picture,roles)}function paintRing(pen2,box,marks,accent,k){const selected=marks.selected.has(box.id);if(!selected&&box.id!==marks.hover&&box.id!==marks.focus&&!marks.found?.has(box.id))return;
const width=selected?3:1.6;pen2.strokeStyle=accent;pen2.lineWidth=Math.max(width,width/k);pen2.strokeRect(-box.w/2-RING,-box.h/2-RING,box.w+2*RING,box.h+2*RING)}function paintSymbol(pen2,box,ink,words){
const[middle,size]=words?[symbolCentre(box),1]:[0,2];pen2.strokeStyle=ink;pen2.lineWidth=1.7;pen2.lineCap="round";pen2.translate(middle-8*size,-8*size);pen2.scale(size,size);pen2.stroke(new Path2D(symbolOf(
box.kind)));pen2.scale(1/size,1/size);pen2.translate(-middle+8*size,8*size);pen2.lineCap="butt"}function paintWords({pen:pen2,write},box,ink){const{left,two,title,detail}=wordsOf(box);pen2.textAlign="\
left";write(`600 12.5px ${FONT}`,ink,title,left,two?-7:.5);if(two)write(`11px ${FONT}`,ink,detail,left,9.5)}function paintSigns({pen:pen2,panel,write},box,picture,roles){pen2.textAlign="center";signsOf(
box,picture,roles).forEach(({sign,fill,ink,stroke},index)=>{const x=-box.w/2+3+index*SIGN_STEP;pen2.beginPath();pen2.arc(x,-box.h/2,8,0,7);pen2.fillStyle=fill;pen2.fill();pen2.strokeStyle=stroke;pen2.
lineWidth=1;pen2.stroke();write(`700 12px ${FONT}`,ink,sign,x,-box.h/2+.5)});const pill=placePill(box,words=>textWidth(words,11,true));if(pill){const{right,width,y,solid}=pill;const[fill,ink]=solid?[roles.
fg,roles.panel]:[roles.panel,roles.fg];panel({x:right-width,y:y-9,w:width,h:18,r:9},fill,roles.fg);write(`600 11px ${FONT}`,ink,pill.words,right-width/2,y+.5)}box.badges.slice(0,MAX_BADGES).forEach((badge,index)=>{
const{fill,ink}=badgeColours(badge.tone,roles);const x=box.w/2-4-index*BADGE_STEP;panel({x:x-9,y:box.h/2-8.5,w:17,h:17,r:5},fill);write(`700 10.5px ${FONT}`,ink,clip(badge.sign,10,16,true)||"!",x-.5,box.
h/2+.5)})}var PLAIN2=.35;var ORDER=["kept","changed","removed","added"];function trace(pen2,points,run,plain){const[before,tip]=[points[points.length-2],points[points.length-1]];pen2.moveTo(points[0].x,points[0].
y);for(let index=1;index<points.length;index+=1){const[p,q]=[points[index-1],points[index]];if(p.side||q.side)pen2.lineTo(p.side?q.x:p.x,p.side?p.y:q.y);if(plain||p.side||q.side)pen2.lineTo(q.x,q.y);else if(run===
"v")pen2.bezierCurveTo(p.x,(p.y+q.y)/2,q.x,(p.y+q.y)/2,q.x,q.y);else pen2.bezierCurveTo((p.x+q.x)/2,p.y,(p.x+q.x)/2,q.y,q.x,q.y)}if(plain)return;const level=run==="h"||tip.side;const[back,out]=[-7*(Math.
sign(level?tip.x-before.x:tip.y-before.y)||1),4];pen2.moveTo(tip.x+(level?back:-out),tip.y+(level?-out:back));pen2.lineTo(tip.x,tip.y);pen2.lineTo(tip.x+(level?back:out),tip.y+(level?out:back))}function pointsAt(edge,a,b){
const[from,to]=[{x:a.x-edge.source.x,y:a.y-edge.source.y},{x:b.x-edge.target.x,y:b.y-edge.target.y}];return from.x||from.y||to.x||to.y?moved(edge,from,to):edge.points}function paintEdges({pen:pen2},picture,palette,marks,k,sight,now){
const plain=k<PLAIN2;pen2.lineCap="butt";for(const change of ORDER){pen2.beginPath();let style=null;for(const edge of picture.edges){if(edge.change!==change)continue;const[a,b]=[now.get(edge.source.id),
now.get(edge.target.id)];if(!a||!b||!isSeen(a,b,sight))continue;style=style||lineOf(edge,palette);trace(pen2,pointsAt(edge,a,b),edge.run,plain)}if(!style)continue;pen2.strokeStyle=style.stroke;pen2.lineWidth=
Math.max(style.width,.6/k);pen2.globalAlpha=plain?.5:1;pen2.setLineDash(plain?[]:style.dash);pen2.stroke();pen2.setLineDash([]);pen2.globalAlpha=1}const near=marks.hover?new Set([marks.hover]):marks.selected;
if(!near.size)return;pen2.beginPath();for(const edge of picture.edges){if(near.has(edge.source.id)||near.has(edge.target.id))trace(pen2,edge.points,edge.run,false)}pen2.strokeStyle=palette.roles.accent;
pen2.lineWidth=Math.max(2.4,1.6/k);pen2.stroke()}var isSeen=(a,b,{l,t,r,b:bottom})=>Math.max(a.x,b.x)>=l&&Math.min(a.x,b.x)<=r&&Math.max(a.y,b.y)>=t&&Math.min(a.y,b.y)<=bottom;function paintHulls({pen:pen2,
hatch},hulls,lit,palette,k){for(const{hull,d}of hulls){const style=hullStyle(hull.kind,palette);const path=new Path2D(d);const dim=lit&&lit!==hull?.3:1;pen2.globalAlpha=(hull.kind==="near-miss"||hull.
kind==="lost"?.6:.22)*dim;pen2.fillStyle=style.hatch?hatch(style.stroke):style.fill;pen2.fill(path);pen2.globalAlpha=dim;pen2.strokeStyle=style.stroke;pen2.lineWidth=Math.max(style.width,1/k);pen2.setLineDash(
style.dash);pen2.stroke(path);pen2.setLineDash([])}pen2.globalAlpha=1}function paintTags({pen:pen2,panel,write},hulls,palette){pen2.textAlign="left";pen2.textBaseline="middle";for(const{hull,tag}of hulls){
if(!tag)continue;const{l,t,r}=tag.at;const{stroke}=hullStyle(hull.kind,palette);panel({x:l,y:t,w:r-l,h:18,r:9},palette.roles.panel,stroke,1.2);write(`11px ${FONT}`,palette.roles.fg,`${tag.sign}  ${tag.
words}`,l+7,t+9.5)}}var[LEGIBLE2,MAX_WORDED]=[.45,1500];var TAGGED=.3;function canvasScene(make,palette){const{h}=make;const name2=uniqueName("ce");const canvas=h("canvas",{class:"ce-canvas","aria-hidden":"true"});const option=h(
"div",{role:"option",id:`${name2}-option`,"aria-selected":"false",class:"ce-said"});const listbox={role:"listbox",tabindex:"0","aria-multiselectable":"true"};const stage=h("div",{class:"ce-stage",...listbox,
"aria-activedescendant":`${name2}-option`},canvas,option);const pen2=typeof canvas.getContext==="function"?canvas.getContext("2d"):null;const brush=makeBrush(make,pen2);let picture=null;let starts=new Map;
let now=new Map;let[width,height,t]=[0,0,1];let camera={k:1,x:0,y:0};let marks={selected:new Set,found:null,hull:"",hover:"",focus:"",cell:-1,values:null};let hulls=[];let waiting=0;let closed=false;const later=()=>{
if(!waiting&&!closed)waiting=frameOf(paint)};function begin(){const sharp=globalThis.devicePixelRatio||1;const{k,x,y}=camera;if(canvas.width!==Math.round(width*sharp))canvas.width=Math.round(width*sharp);
if(canvas.height!==Math.round(height*sharp))canvas.height=Math.round(height*sharp);pen2.setTransform(sharp,0,0,sharp,0,0);pen2.clearRect(0,0,width,height);pen2.setTransform(sharp*k,0,0,sharp*k,sharp*(width/
2-k*x),sharp*(height/2-k*y));const[across,down]=[width/2/k+80,height/2/k+60];return{l:x-across,t:y-down,r:x+across,b:y+down}}function placeOf(box){if(t>=1)return box;const{at}=startOf(box,starts);const e=ease(
t);return{x:at.x+(box.x-at.x)*e,y:at.y+(box.y-at.y)*e}}function paint(){waiting=0;if(!pen2||!picture||closed)return;const shown=picture;const colours=palette();const sight=begin();const{k}=camera;now=
new Map(shown.boxes.map(box=>[box.id,placeOf(box)]));const lit=marks.hull&&shown.hulls.find(item=>item.id===marks.hull)||null;const members=lit?new Set(lit.boxes.map(box=>box.id)):null;if(t>=1)paintHulls(
brush,hulls,lit,colours,k);paintEdges(brush,shown,colours,marks,k,sight,now);const seen=shown.boxes.filter(box=>{const{x,y}=now.get(box.id)||box;return x+box.w/2>sight.l&&x-box.w/2<sight.r&&y+box.h/2>
sight.t&&y-box.h/2<sight.b});const words=k>LEGIBLE2&&seen.length<MAX_WORDED;for(const box of seen){const{x,y}=now.get(box.id)||box;const faint=members&&!members.has(box.id)||marks.found&&!marks.found.
has(box.id);pen2.globalAlpha=faint?.3:1;pen2.translate(x,y);paintBox(brush,box,shown,colours,marks,k,words);pen2.translate(-x,-y)}pen2.globalAlpha=1;if(t>=1&&k>TAGGED)paintTags(brush,hulls,colours)}return{
stage,list:stage,recolour(){brush.recolour();later()},show(shown,from){picture=shown;starts=from;hulls=layHulls(shown);now=new Map(shown.boxes.map(box=>[box.id,box]));later()},frame(at){t=at;later()},
look(next,w,h2){camera=next;[width,height]=[w,h2];later()},mark(next){marks=next;const box=picture&&(picture.byId.get(next.focus)||picture.boxes[0]);option.textContent=box?describeBox(box):"";option.setAttribute(
"aria-selected",String(Boolean(box&&next.selected.has(box.id))));option.setAttribute("data-id",box?box.id:"");later()},focus(){stage.focus({preventScroll:true})},places:()=>new Map(now),close(){closed=
true;if(waiting)unframe(waiting);stage.remove()}}}var INSET=34;var MOVE_MS=320;var[TEXT,SLIDE_TEXT]=[12,16];var[MAX_FIT,SLIDE_FIT]=[1.2,3];var EMPHASIZED=["selection","found","hull","hover","focus","cell"];var VALUES=["details","closeup","showCloseup",
"values","run"];var MARKS=[...EMPHASIZED,...VALUES];var SCENES={plates:platesScene,canvas:canvasScene,svg:svgScene};function makeStage({make,h},{state},{root,attach}){const element=h("div",{class:"ce-\
views"});const emptyWords=h("span",{text:"Nothing to show yet."});const empty=h("div",{class:"ce-empty"},emptyWords);let panes=[];let lasts=MOVE_MS;const size={width:800,height:320};function newPane(kind){
const scene=SCENES[kind](make,()=>state.palette);const title=h("div",{class:"ce-view-title"});const pane={scene,element:h("div",{class:"ce-view"},scene.stage,title),title,picture:null,kind};attach(pane);
return pane}function matchPanes(shown){const limit=number(state.options.svg_limit,MAX_SVG_BOXES);const kinds=shown.map(({boxes,groupBy})=>groupBy==="plates"?"plates":boxes.length>limit?"canvas":"svg");
if(panes.length===shown.length&&panes.every((pane,index)=>pane.kind===kinds[index]))return;for(const pane of panes)pane.scene.close();panes=kinds.map(newPane);element.replaceChildren(...panes.map(pane=>pane.
element))}function show(){const shown=picturesOf(state);const from=panes.map(({scene})=>scene.places());matchPanes(shown);const twins=shown.length>1&&shown[0].title===shown[1].title;panes.forEach((pane,index)=>{
const picture2=shown[index];const{title,note,boxes}=picture2;pane.picture=picture2;pane.title.hidden=shown.length<2;pane.title.textContent=twins||!title?index?"After":"Before":title;const words=[title,
note].filter(Boolean).join(". ");pane.scene.list.setAttribute("aria-label",`Graph, ${boxes.length} boxes. ${words}`);lasts=pane.scene.show(picture2,from[index]||from[0]||new Map)||MOVE_MS});const{picture}=state;
empty.hidden=Boolean(picture&&picture.boxes.length);emptyWords.textContent=picture?picture.message||"Nothing to show here.":"Nothing to show yet."}function look(){const{width,height}=viewport();const size2=isPresenting(
state)?SLIDE_TEXT:TEXT;for(const{scene}of panes)scene.look(state.camera,width,height,size2);root.setAttribute("data-zoom",state.camera.k.toFixed(3))}function viewport(){size.width=panes[0]?.element.clientWidth||
size.width;size.height=panes[0]?.element.clientHeight||size.height;const inset=panes.length>1||isCompact(state)?INSET:0;const maxFit=isPresenting(state)?SLIDE_FIT:MAX_FIT;return{...size,panes:panes.length,
inset,maxFit}}const hasFocus=()=>{const active=focusedIn(root);return Boolean(active&&element.contains(active))};const focusedBox=()=>{const active=focusedIn(root);return hasFocus()&&active.getAttribute?
active.getAttribute("data-id")||state.focus||"":""};const paneOf=id=>panes.find(({picture})=>picture?.byId.has(id));return{element,empty,look,viewport,hasFocus,focusedBox,reads:["picture","palette","c\
amera",...EMPHASIZED,...VALUES],draw(_,changed){const redrawn=changed.has("picture")||changed.has("palette");if(changed.has("picture"))show();else if(changed.has("palette"))for(const{scene}of panes)scene.
recolour();if(redrawn||MARKS.some(name2=>changed.has(name2))){for(const{scene}of panes)scene.mark(marksOf(state))}if(redrawn||changed.has("camera"))look()},frame(t){for(const{scene}of panes)scene.frame(
t)},lasts:()=>lasts,progress:t=>panes[0]?.scene.progress?.(t)??t,has:id=>Boolean(paneOf(id)),focus(id,first=0){const pane=panes[first]?.picture?.byId.has(id)?panes[first]:paneOf(id)||panes[0];const boxes=pane?.
picture?.boxes||[];if(boxes.length)pane.scene.focus(paneOf(id)?id:boxes[0].id);else root.focus()},currentPane:()=>panes.find(pane=>pane.element.contains(focusedIn(root)))||panes[0],panes:()=>panes,close(){
for(const{scene}of panes)scene.close()}}}var STYLE20=`
.ce-views{position:relative;display:flex;flex:1 1 auto;min-width:0;min-height:0}
.ce-view{position:relative;flex:1 1 0;min-width:0;min-height:0;overflow:hidden;cursor:grab;touch-action:none}
.ce-view+.ce-view{border-left:2px solid var(--ce-line)}
.ce-view.ce-dragging{cursor:grabbing}
.ce-view-title{position:absolute;left:10px;top:8px;padding:1px 8px;border-radius:5px;background:var(--ce-panel);border:1px solid var(--ce-line);font-weight:600;font-size:12px;pointer-events:none}
.ce-stage{position:absolute;inset:0;display:block;overflow:hidden}
.ce-root canvas.ce-canvas{position:absolute;inset:0;width:100%;height:100%;display:block}
.ce-empty{position:absolute;inset:0;display:flex;flex-direction:column;align-items:center;justify-content:center;gap:10px;padding:24px;text-align:center;color:var(--ce-muted);pointer-events:none}
`;var[PLAY,PAUSE]=["Play (Space on the stepper)","Pause"];var ONLY_WIDTH=900;function makeStepper({make,h,button,guard},store,{goTo,goToEnd,walk,setPlaying}){const{state}=store;const slide=guard(()=>goTo(
Number(slider.value),true));const range={type:"range",min:"0",max:"0",step:"1",value:"0","aria-label":"Step"};const slider=h("input",{...range,oninput:slide,onchange:slide});const ticks=h("div",{class:"\
ce-ticks","aria-hidden":"true"});const back=[button("First step (Home)","first",()=>goTo(0),SOLID),button("Previous step (Left; any step: Shift + Left)","previous",()=>walk(-1),SOLID)];const forward=[
button("Next step (Right; any step: Shift + Right)","next",()=>walk(1),SOLID),button("Last step (End)","last",()=>goToEnd(),SOLID)];const play=button(PLAY,"play",()=>setPlaying(!state.playing),{...SOLID,
"aria-pressed":"false"});const setOnly=guard(()=>store.set({onlyChanging:check.checked}));const check=h("input",{type:"checkbox",checked:true,onchange:setOnly});const only=h("label",{class:"ce-label"},
check,h("span",{text:"changing steps only"}));const title=h("div",{class:"ce-step-title"});const verdict=h("span",{class:"ce-ok"});const parts=[h("div",{class:"ce-group"},back),h("div",{class:"ce-slid\
er"},ticks,slider),h("div",{class:"ce-group"},forward,play),only,title,verdict];function drawTicks(){const last=Math.max(1,state.steps.length-1);const wrong=state.steps.map(item=>Boolean(item.error||item.
ok===false));const marked=state.steps.filter((item,at)=>item.changed||wrong[at]);const tick=item=>h("i",{style:`left:${100*item.index/last}%`,class:item.error||item.ok===false?"ce-bad":null});ticks.replaceChildren(
...marked.map(tick))}function drawTitle(){const current=state.steps[state.step];const words=current?current.title:"";slider.setAttribute("aria-valuetext",words);title.textContent=words;title.setAttribute(
"title",[words,current&&current.summary].filter(Boolean).join("\n"));verdict.hidden=!current||current.ok===null;if(!current||current.ok===null)return;verdict.setAttribute("class",`ce-ok ${current.ok?"\
ce-good":"ce-bad"}`);verdict.textContent=current.ok?"✓ same values":"✕ values differ"}const element=h("div",{class:"ce-bar ce-steps",role:"group","aria-label":"Steps"},parts);return{element,parts,
slider,reads:["steps","step","playing","stopped","options","width"],draw(_,changed){const last=Math.max(0,state.steps.length-1);if(changed.has("steps"))drawTicks();slider.setAttribute("max",String(last));
slider.max=String(last);slider.value=String(state.step);drawTitle();for(const item of back)item.disabled=state.stopped||state.step<=0;for(const item of forward)item.disabled=state.stopped||state.step>=
last;play.disabled=state.stopped||state.steps.length<2;slider.disabled=state.stopped;play.setAttribute("aria-pressed",String(state.playing));play.setAttribute("aria-label",state.playing?PAUSE:PLAY);const word=h(
"span",{class:"ce-play-word",text:state.playing?"Pause":"Play"});play.replaceChildren(icon(make,state.playing?"pause":"play"),word);element.hidden=state.options.stepper===false||!state.steps.length;only.
hidden=isCompact(state)||state.width<ONLY_WIDTH}}}var STYLE21=`
.ce-bar.ce-steps{flex-wrap:nowrap}
.ce-slider{position:relative;flex:1 1 160px;min-width:90px;height:28px}
.ce-slider input{-webkit-appearance:none;appearance:none;position:absolute;inset:0;width:100%;height:28px;margin:0;padding:0;background:transparent;cursor:pointer}
.ce-slider input::-webkit-slider-runnable-track{height:4px;border-radius:2px;background:var(--ce-line)}
.ce-slider input::-moz-range-track{height:4px;border-radius:2px;background:var(--ce-line)}
.ce-slider input::-webkit-slider-thumb{-webkit-appearance:none;width:16px;height:16px;margin-top:-6px;border-radius:50%;background:var(--ce-accent);border:2px solid var(--ce-panel);box-shadow:0 0 0 1p\
x var(--ce-accent)}
.ce-slider input::-moz-range-thumb{width:12px;height:12px;border-radius:50%;background:var(--ce-accent);border:2px solid var(--ce-panel);box-shadow:0 0 0 1px var(--ce-accent)}
.ce-ticks{position:absolute;left:8px;right:8px;bottom:1px;height:5px;pointer-events:none}
.ce-ticks i{position:absolute;width:3px;height:5px;margin-left:-1.5px;border-radius:1px;background:var(--ce-changed)}
.ce-ticks i.ce-bad{background:var(--ce-error);height:8px;bottom:0;width:4px}
.ce-step-title{flex:0 1 auto;min-width:0;max-width:52%;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;font-weight:600}
.ce-ok{display:inline-flex;align-items:center;gap:4px;padding:1px 8px;border-radius:10px;border:1px solid currentColor;font-size:12px;font-weight:600;white-space:nowrap}
.ce-ok.ce-good{color:var(--ce-free)}.ce-ok.ce-bad{color:var(--ce-error)}
.ce-narrow .ce-bar.ce-steps{flex-wrap:wrap}
.ce-narrow .ce-step-title{flex:1 1 12em;max-width:100%}
.ce-narrow .ce-play-word{display:none}
`;var STYLE22=`
.ce-fatal{padding:14px 16px;border-left:4px solid var(--ce-error);margin:10px;background:var(--ce-panel);overflow-wrap:anywhere}
.ce-fatal b{display:block}
`;function makeFailures({h},announce){const failures=new Map;const element=h("div",{class:"ce-fatal",role:"alert",hidden:true});function draw(){const words=[...failures.values()];element.hidden=!words.
length;element.replaceChildren(h("b",{text:"Cannot draw this."}),...words.map(line2=>h("div",{text:line2})));if(words.length)announce(words.join(" "))}const guard=(action,name2="act")=>(...args)=>{try{
action(...args);if(failures.delete(name2))draw()}catch(error){failures.set(name2,errorText(error));draw()}};return{element,guard}}var STYLE23=`
.ce-root g.ce-box:focus-visible{outline:none}
.ce-tip{pointer-events:none}
.ce-stage text{font-family:inherit;dominant-baseline:central;user-select:none;-webkit-user-select:none}
.ce-box{cursor:pointer}
.ce-root text.ce-name{font-size:1px;fill:transparent;pointer-events:none}
.ce-title{font-size:12.5px;font-weight:600}
.ce-detail{font-size:11px;opacity:.86}
.ce-far-title{font-size:18px;font-weight:600;display:none}
.ce-symbol path,.ce-big-symbol path{fill:none;stroke-width:1.7;stroke-linecap:round;stroke-linejoin:round}
.ce-disc{stroke-width:.8;stroke-opacity:.28}
.ce-big-symbol{display:none}
.ce-stage text.ce-big-number{font-size:32px;font-weight:700;text-anchor:middle}
.ce-hatch-removed{opacity:.32}.ce-hatch-missing{opacity:.75}
.ce-ring{fill:none;stroke:none;stroke-width:3}
.ce-hover .ce-ring{stroke:var(--ce-accent);stroke-width:1.5;stroke-opacity:.7}
.ce-found .ce-ring{stroke:var(--ce-accent);stroke-width:2;stroke-dasharray:3 3}
.ce-selected .ce-ring{stroke:var(--ce-accent);stroke-width:3;stroke-dasharray:none}
.ce-box:focus-visible .ce-ring{stroke:var(--ce-fg);stroke-width:2.5;stroke-dasharray:none}
.ce-box.ce-selected:focus-visible .ce-ring{stroke:var(--ce-accent);stroke-width:5}
.ce-dim{opacity:.34}
.ce-sign text,.ce-badge text,.ce-pill text,.ce-edge-label text{text-anchor:middle}
.ce-sign text{font-size:12px;font-weight:700}
.ce-badge text{font-size:10.5px;font-weight:700}
.ce-pill rect{fill:var(--ce-panel);stroke:var(--ce-fg)}
.ce-pill text{font-size:11px;font-weight:600;fill:var(--ce-fg)}
.ce-pill.ce-solid rect{fill:var(--ce-fg)}
.ce-pill.ce-solid text{fill:var(--ce-panel)}
.ce-line{fill:none}
.ce-near .ce-line{stroke:var(--ce-accent);stroke-width:2.6}
.ce-near .ce-tip{fill:var(--ce-accent)}
.ce-edge-label text{font-size:10px}
.ce-hull .ce-tint{opacity:.2}
.ce-hull-near-miss .ce-tint,.ce-hull-lost .ce-tint{opacity:.55}
.ce-lost-hatch{opacity:.35}
.ce-hull.ce-lit .ce-tint{opacity:.5}
.ce-tag{cursor:pointer}
.ce-tag rect{fill:var(--ce-panel);stroke-width:1.3}
.ce-tag text{font-size:11px;fill:var(--ce-fg)}
.ce-tag text.ce-tag-sign{font-weight:800;text-anchor:middle}
.ce-tag.ce-lit rect{stroke-width:2.6}
.ce-far .ce-detail,.ce-far .ce-title{display:none}
.ce-far .ce-edge-label *,.ce-far .ce-pill *,.ce-far .ce-badge *,.ce-far .ce-sign *{transform:scale(1.35);transform-box:fill-box;transform-origin:center}
.ce-far .ce-far-title{display:inline}
.ce-far .ce-edge-label.ce-plain{display:none}
.ce-farthest .ce-title,.ce-farthest .ce-detail,.ce-farthest .ce-symbol,.ce-farthest .ce-edge-label,.ce-farthest .ce-tag,.ce-farthest .ce-badge{display:none}
.ce-farthest .ce-big-symbol{display:inline}
.ce-farthest .ce-line,.ce-farthest .ce-face,.ce-farthest .ce-hull path{vector-effect:non-scaling-stroke;stroke-width:1px}
`;var MAX_ROWS2=1e3;var LONG=26;var rowsOf2=({table},found)=>found?table.rows.filter(([id])=>found.has(id)):table.rows;function tableElement(h,{table,title,note},known3,all){const rows=all?known3:known3.
slice(0,MAX_ROWS2);const cell=words=>h("td",{class:words.length>LONG?"ce-long":null,text:words});const heads=table.columns.map(column=>h("th",{scope:"col",text:column}));const caption=[title,note].filter(
Boolean).join(". ")||"The picture as a table";return h("table",{},h("caption",{text:caption}),h("thead",{},h("tr",{},heads)),h("tbody",{},rows.map(row=>h("tr",{},row.map(cell)))))}function makeTable({
h,button,textButton},store){const{state}=store;const region={tabindex:"0",role:"region","aria-label":"The picture as a table",hidden:true};const element=h("div",{class:"ce-table",...region});const toggle=button(
"Table with the same data","table",()=>store.set({showTable:!state.showTable}),{"aria-pressed":"false"});return{element,toggle,reads:["picture","showTable","showAllRows","found"],draw(){const{picture,
showTable,showAllRows,found}=state;toggle.setAttribute("aria-pressed",String(showTable));element.hidden=!showTable||!picture;if(!showTable||!picture){element.replaceChildren();return}const pictures=picture.
other?[picture,picture.other]:[picture];const most=Math.max(...pictures.map(shown=>rowsOf2(shown,found).length));const more=`Show all ${most.toLocaleString("en")} rows`;element.replaceChildren(...pictures.
map(shown=>tableElement(h,shown,rowsOf2(shown,found),showAllRows)),...most>MAX_ROWS2&&!showAllRows?[textButton(more,()=>store.set({showAllRows:true}))]:[])}}}var STYLE24=`
.ce-table{position:absolute;inset:0;z-index:2;overflow:auto;background:var(--ce-bg);padding:0 10px 10px}
.ce-table table{border-collapse:collapse;width:100%;font-size:12.5px;font-variant-numeric:tabular-nums;margin:0;color:inherit}
.ce-table caption{text-align:left;padding:8px 0;color:var(--ce-muted);caption-side:top}
.ce-table th{position:sticky;top:0;background:var(--ce-panel);text-align:left;border-bottom:2px solid var(--ce-control);padding:5px 10px;white-space:nowrap}
.ce-table td{border-bottom:1px solid var(--ce-line);padding:4px 10px;text-align:left;vertical-align:top;overflow-wrap:break-word;max-width:420px}
.ce-table td.ce-long{min-width:210px}
.ce-table tbody tr:nth-child(even){background:var(--ce-ground)}
`;var WIDTH3=1e3;var HEIGHT3=14;var MIN_CALL=2.5;function rowsOf3(frames){const lanes=frames.length?lanesOf(frames[0].times).filter(lane=>frames.every(({times})=>lane in times)):[];const names=frames.length>
1?["before","after"]:["runs"];if(!lanes.length)return frames.map((frame,at)=>({name:names[at],frame,lane:"",length:frame.calls}));return lanes.flatMap(lane=>frames.map((frame,at)=>({name:`${laneName(lane)}\
 ${names[at]}`,frame,lane,length:frame.times[lane]})))}function makeTimeline({make,textButton},{state},timing){const{h,s}=make;const rows=h("div",{class:"ce-runs"});const start=textButton("Time it",timing.
start,{title:"Measure every step and its layers (t)"});const bar=h("progress",{max:1,"aria-label":"Progress of the measurement"});const words=h("span",{role:"status"});const running=h("div",{class:"ce\
-timing",hidden:true},words,bar,textButton("Cancel",timing.cancel));const missing=h("div",{class:"ce-run-missing"});const element=h("div",{class:"ce-timeline",role:"group","aria-label":"Time line",hidden:true},
rows,h("div",{class:"ce-run-side"},start,running),missing);function framesShown(){const frames=state.steps.slice(0,state.step+1).flatMap(step=>step.frame??[]);const current=frames[frames.length-1];if(!current)
return[];if(state.view.slides==="clock")return[frames[0],current];if(state.view.slides&&state.view.mode==="before")return frames.slice(-2,-1);return current.step===state.step&&frames.length>1?frames.slice(
-2):[current]}function rowElements({name:name2,frame,lane,length},whole2){let x=0;const blocks=partsOf(frame,lane).flatMap(({kind,calls,length:own})=>{const size=WIDTH3*own/whole2;const d=blocksPath(x,
size,calls);x+=size;return s("path",{d,fill:state.palette.roles[kind]||state.palette.roles.operator})});const count=`${frame.calls.toLocaleString("en-US")} ${frame.calls===1?"call":"calls"}`;const view={
viewBox:`0 0 ${WIDTH3} ${HEIGHT3}`,preserveAspectRatio:"none",class:"ce-run","aria-hidden":"true"};return[h("span",{class:"ce-run-name",text:name2}),s("svg",view,blocks),h("span",{text:lane?`${timeWords(
length)}, ${count}`:count})]}function drawProgress(){const{progress}=state;start.hidden=Boolean(progress)||!timing.isOffered();running.hidden=!progress;words.textContent=progress?progress.text:"";if(progress&&
progress.share!==null)bar.setAttribute("value",progress.share);else bar.removeAttribute("value")}return{element,reads:["steps","step","options","palette","progress","view"],draw(_,changed){const shown=framesShown();
const drawn=shown.length>0&&shown.every(frame=>frame.plates.length);element.hidden=!drawn||state.options.film===false||state.options.stepper===false||isAsking(state);if(element.hidden)return;drawProgress();
if(changed.size===1&&changed.has("progress"))return;const all=rowsOf3(shown);const whole2=Math.max(...all.map(({length})=>length));rows.replaceChildren(...all.flatMap(row=>rowElements(row,whole2)));const reasons=Object.
entries(shown[shown.length-1].missing);missing.textContent=reasons.map(([lane,why])=>`No times on ${laneName(lane)}: ${why}.`).join(" ")}}}function partsOf(frame,lane){if(!lane)return frame.plates.map(
({kind,calls})=>({kind,calls,length:calls}));const whole2=frame.times[lane];const sum=frame.plates.reduce((total,{ms})=>total+(ms[lane]??NaN),0);if(!(sum>0))return[{kind:"operator",calls:1,length:whole2}];
return frame.plates.map(({kind,calls,ms})=>({kind,calls,length:ms[lane]*whole2/sum}))}function blocksPath(x,size,calls){const call=size/Math.max(1,calls);if(call<=MIN_CALL)return`M${x.toFixed(2)} 0h${size.
toFixed(2)}v${HEIGHT3}H${x.toFixed(2)}z`;const width=call-Math.min(2,call/4);let d="";for(let i=0;i<calls;i+=1){const left=(x+i*call).toFixed(2);d+=`M${left} 0h${width.toFixed(2)}v${HEIGHT3}H${left}z`}
return d}var STYLE25=`
.ce-timeline{flex:none;display:flex;flex-wrap:wrap;align-items:center;gap:3px 14px;padding:5px 12px;border-top:1px solid var(--ce-line);background:var(--ce-panel)}
.ce-runs{flex:1 1 480px;display:grid;grid-template-columns:auto 1fr auto;gap:3px 10px;align-items:center;font-size:12.5px}
.ce-run{display:block;width:100%;height:14px}
.ce-run-name{color:var(--ce-muted)}
.ce-run-missing{flex:1 0 100%;color:var(--ce-muted);font-size:12.5px}
.ce-run-missing:empty{display:none}
.ce-timing{display:flex;align-items:center;gap:8px;font-size:12.5px}
.ce-timing progress{width:90px;accent-color:var(--ce-accent)}
`;function makeToolbar({h,guard},{state},{setView},setMode){function chooser(name2,label,option,words){const select=h("select",{onchange:guard(()=>setView({[name2]:select.value}))});const element2=h("la\
bel",{class:"ce-label"},h("span",{text:label}),select);const draw=()=>{const names=choices(option,words);element2.hidden=names.length<2;if(select.getAttribute("data-names")!==names.join(" ")){select.setAttribute(
"data-names",names.join(" "));select.replaceChildren(...names.map(value=>h("option",{value,text:words[value]||value})))}const wanted=text(state.view[name2],names[0]);select.value=names.includes(wanted)?
wanted:names[0]};return{element:element2,draw}}const choices=(option,words)=>{const allowed=list(state.options[option]);return allowed.length?allowed:Object.keys(words)};const choosers=[chooser("colou\
r_by","Colour by","colours",COLOUR_WORDS),chooser("group_by","Group by","groups",GROUP_WORDS)];const modes=h("div",{class:"ce-group ce-segments",role:"group","aria-label":"Compare with the step before"});
let modeButtons=new Map;function drawModes(){const shown=choices("modes",MODE_WORDS);if(shown.join(" ")!==[...modeButtons.keys()].join(" ")){modeButtons=new Map(shown.map(mode=>[mode,modeButton(mode)]));
modes.replaceChildren(...modeButtons.values())}modes.hidden=shown.length<2;const current=text(state.view.mode,state.picture?state.picture.mode:"diff");for(const[mode,button]of modeButtons)button.setAttribute(
"aria-pressed",String(mode===current))}const modeButton=mode=>h("button",{type:"button","aria-pressed":"false","data-mode":mode,onclick:guard(()=>setMode(mode)),text:MODE_WORDS[mode]||mode});const element=h(
"div",{class:"ce-bar",role:"group","aria-label":"View"});return{element,modes,choosers:choosers.map(item=>item.element),reads:["options","view","picture"],draw(){drawModes();for(const item of choosers)
item.draw();element.hidden=isCompact(state)||state.options.toolbar===false}}}var STYLE26=`
.ce-segments button{border-radius:0;margin-left:-1px}
.ce-segments button:first-child{border-radius:6px 0 0 6px;margin-left:0}
.ce-segments button:last-child{border-radius:0 6px 6px 0}
.ce-segments button[aria-pressed=true]{position:relative;z-index:1}
.ce-modes{left:10px;top:8px}
`;var STYLE27=[STYLE10,STYLE26,STYLE5,STYLE21,STYLE7,STYLE25,STYLE8,STYLE20,STYLE4,STYLE16,STYLE15,STYLE12,STYLE14,STYLE3,STYLE24,STYLE11,STYLE13,STYLE9,STYLE22,STYLE6,STYLE23,STYLE18,STYLE2,STYLE19,STYLE17,
SYSTEM_STYLE].join("");function makeUi(doc){prepareMeasuring(doc);const make=maker(doc);const{h}=make;const live=h("div",{class:"ce-said",role:"status","aria-live":"polite"});const announce=words=>{live.textContent=words};const failures=makeFailures(
make,announce);const{guard}=failures;const button=(label,picture,action,more={})=>h("button",{type:"button","aria-label":label,title:label,onclick:guard(action),...more},icon(make,picture));const textButton=(words,action,more={})=>h(
"button",{type:"button",onclick:guard(action),...more,text:words});return{doc,make,h,s:make.s,live,announce,button,textButton,guard,wrong:failures.element,timers:makeTimers(guard)}}var ROOMY=640;function render({model,el}){const ui=makeUi(el.ownerDocument||document);const{doc,h,guard,timers}=ui;const store=makeStore(initialState(paletteFor(doc,"auto")));const{state}=store;const saving=makeSaving(
model,store);const root=h("div",{class:"ce-root",role:"region","aria-label":"Circuit explorer",tabindex:"-1","data-lm-suppress-shortcuts":"true",onkeydown:guard(event=>keys.press(event))});const area=h(
"div",{class:"ce-views"});const hint=makeHint(ui,area);const stage=makeStage(ui,store,{root,attach:pane=>pointing.attach(pane)});const camera=makeCamera(ui,store,saving,stage,root);const loading=makeLoading(
ui,store,{root,cancel:()=>requesting.cancel()});const stepping=makeStepping(ui,store,saving,loading);const requesting=makeRequesting(store,saving,loading,stepping);const selecting=makeSelecting(ui,store,
saving,{root,stage,camera,lit:()=>pager.words()});const timing=makeTiming(store,saving);const pointing=makePointing(ui,store,{root,stage,camera,selecting,hint});const closingUp=makeClosingUp(store,saving);
const stepper=makeStepper(ui,store,stepping);const film=makeFilm(ui,store,stepping);const closeup=makeCloseup(ui,store,closingUp);const timeline=makeTimeline(ui,store,timing);const copying=makeCopying(
ui,store,stage);const slides=makeSlides(ui,store,saving,loading,{root,copy:copying.slideButton});const toolbar=makeToolbar(ui,store,saving,requesting.setMode);const search=makeSearch(ui,store,selecting);
const strip=makeStrip(ui,store,saving);const zoom=makeZoom(ui,camera);const map=makeMinimap(ui,store,stage,camera);const table=makeTable(ui,store);const inspector=makeInspector(ui,store,saving,compactSettings);
const help=makeHelp(ui,store,saving,root);const legend=makeLegend(ui,store);const pager=makePager(ui,store,selecting.turn);const foot=makeFoot(ui,store,saving,pager.element);const focusing=makeFocusing(
store,{root,stage,stepper});const keys=makeKeys(ui,store,{root,slider:stepper.slider,setMode:requesting.setMode,stage,camera,stepping,selecting,search,inspector,help,hint,timing,slides});const floatModes=h(
"div",{class:"ce-float ce-modes"});const gap=h("span",{class:"ce-grow"});area.replaceChildren(stage.element,stage.empty,floatModes,zoom.element,map.element,hint.element,table.element,...loading.elements);
const main=h("div",{class:"ce-main"},area,inspector.element,help.element);root.replaceChildren(slides.head,stepper.element,film.element,toolbar.element,strip.element,ui.wrong,main,closeup.element,timeline.
element,h("div",{class:"ce-bottom"},legend.element,foot.element),slides.foot,ui.live);const arrangement={reads:["options"],draw(){const compact=isCompact(state);const buttons=[inspector.toggle,help.toggle];
floatModes.hidden=!compact;setChildren(floatModes,compact?[toolbar.modes]:[]);setChildren(stepper.element,[...stepper.parts,...compact?buttons:[]]);if(compact)return;setChildren(toolbar.element,[toolbar.
modes,...toolbar.choosers,search.element,gap,slides.buttons,copying.button,table.toggle,...buttons])}};function compactSettings(closed){const choosers=toolbar.choosers.some(item=>!item.hidden)?toolbar.
choosers:[];const tables=h("div",{class:"ce-group"},table.toggle,h("span",{text:"Table"}));const settings=h("div",{class:"ce-settings"},...choosers,search.element,slides.buttons,copying.button,tables);
const open=!closed.has("View");return h("div",{},h("details",{open},h("summary",{text:"View"}),settings),h("details",{open:true},h("summary",{text:"Legend"}),h("ul",{class:"ce-legend"},legendItems(ui.
make,state))))}store.add(focusing.before,makeFrame(store,root),arrangement,stepper,film,timeline,slides,copying,toolbar,stage,search,strip,legend,foot,pager,inspector,closeup,table,help,map,loading,focusing.
after);function settle(){const roomy=(doc.defaultView?.innerHeight??ROOMY)>=ROOMY;store.set({width:root.clientWidth||state.width,roomy});camera.settle()}const retheme=guard(()=>store.set({palette:paletteFor(
doc,state.options.theme)}));const readers=makeReaders(ui,store,model,{camera,loading,hint,slides,closingUp,settle});const closing=[onChangesTogether(model,readers),watchTheme(doc,retheme),keys.listenToPage(
doc)];const stop=guard(requesting.stop);doc.addEventListener(STOPPED,stop);closing.push(()=>doc.removeEventListener(STOPPED,stop));if(typeof ResizeObserver==="function"){const watch=new ResizeObserver(
guard(settle));watch.observe(root);watch.observe(area);closing.push(()=>watch.disconnect())}const sheet=h("style",{text:STYLE27});el.appendChild(sheet);el.appendChild(root);store.draw();for(const read of new Set(
Object.values(readers)))read();return()=>{camera.stop();timers.close();for(const close of closing)close();stage.close();sheet.remove();root.remove()}}var graph_default={render};export{graph_default as default};
