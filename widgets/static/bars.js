// Made from widgets/js/ by `npm run build` there: edit the sources, not this file.
var FONT='system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", sans-serif';var MAX_KNOWN=2e4;var pen=null;var known=new Map;function prepareMeasuring(doc){if(pen)return;
const canvas=doc.createElement("canvas");pen=typeof canvas.getContext==="function"?canvas.getContext("2d"):null}function textWidth(words,size,bold=false){const key=`${bold?"b":""}${size} ${words}`;const before=known.
get(key);if(before!==void 0)return before;if(known.size>MAX_KNOWN)known.clear();let width=words.length*size*(bold?.6:.56);if(pen){pen.font=`${bold?"600 ":""}${size}px ${FONT}`;width=pen.measureText(words).
width}known.set(key,width);return width}function clip(words,size,room,bold=false){if(textWidth(words,size,bold)<=room)return words;let[low,high]=[0,words.length];while(low<high){const middle=low+high+
1>>1;if(textWidth(`${words.slice(0,middle)}…`,size,bold)<=room)low=middle;else high=middle-1}return low?`${words.slice(0,low).trimEnd()}…`:""}var theme_default={light:{roles:{bg:"#ffffff",ground:"#f7f8fa",panel:"#ffffff",fg:"#16191d",muted:"#565d66",line:"#d5d9df",control:"#858c96",box:"#ffffff",kept:"#7d858f",edge:"#88909a",accent:"#0a5fb4",
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
ssFill",width:2,dash:[2,4],hatch:false}},tones:{faster:{sign:"▼",words:"faster"},slower:{sign:"▲",words:"slower"},noise:{sign:"≈",words:"within the noise"}}};var text=(value,otherwise="")=>typeof value==="string"?value:value==null?otherwise:String(value);var numberOrNull=value=>typeof value==="number"&&Number.isFinite(value)?value:null;var list=value=>Array.isArray(value)?value:[];var texts=value=>list(value).map(item=>text(item));var record=value=>value&&
typeof value==="object"&&!Array.isArray(value)?value:{};function asDict(value){if(value instanceof Map)return Object.fromEntries(value);if(typeof value==="string")return value.trim()?record(JSON.parse(
value)):{};return record(value)}var TABLES={light:theme_default.light,dark:theme_default.dark,forced:theme_default.forced};var palettes=new Map;function paletteOf(theme,forced){const key=`${theme} ${forced}`;const known2=palettes.get(
key);if(known2)return known2;const made={theme,forced,...TABLES[forced?"forced":theme]};palettes.set(key,made);return made}var paletteFor=(doc,wish)=>paletteOf(wish==="dark"||wish==="light"?wish:hostTheme(
doc),matchesMedia("(forced-colors: active)"));function applyPalette(root,{theme,roles},prefix){root.setAttribute("data-theme",theme);for(const[role,colour]of Object.entries(roles))root.style.setProperty(
`--${prefix}-${role}`,colour);root.style.setProperty("color-scheme",theme)}var matchesMedia=query=>typeof matchMedia==="function"&&matchMedia(query).matches;function hostTheme(doc){for(const element of[
doc.body,doc.documentElement]){if(!element||!element.getAttribute)continue;const lab=element.getAttribute("data-jp-theme-light");if(lab)return lab==="true"?"light":"dark";for(const name of["data-theme",
"data-mui-color-scheme","data-bs-theme","data-vscode-theme-kind","theme"]){const value=element.getAttribute(name)||"";if(/dark/.test(value))return"dark";if(/light/.test(value))return"light"}const classes=element.
getAttribute("class")||"";if(/(^|\s)(dark|dark-theme|dark-mode)(\s|$)/.test(classes))return"dark";if(/(^|\s)(light|light-theme|light-mode)(\s|$)/.test(classes))return"light"}return matchesMedia("(pref\
ers-color-scheme: dark)")?"dark":"light"}var WATCHED=["class","theme","data-theme","data-jp-theme-light","data-mui-color-scheme","data-bs-theme","data-vscode-theme-kind"];function watchTheme(doc,callback){
const closing=[];if(typeof matchMedia==="function"){for(const query of["(prefers-color-scheme: dark)","(forced-colors: active)"]){const media=matchMedia(query);if(!media.addEventListener)continue;media.
addEventListener("change",callback);closing.push(()=>media.removeEventListener("change",callback))}}if(typeof MutationObserver==="function"){const watch=new MutationObserver(callback);const filter={attributes:true,
attributeFilter:WATCHED};for(const element of[doc.documentElement,doc.body])if(element)watch.observe(element,filter);closing.push(()=>watch.disconnect())}return()=>closing.forEach(close=>close())}var CHANGES=theme_default.
changes;var HULLS=theme_default.hulls;var TONES=theme_default.tones;var heightOf=(value,otherwise="")=>typeof value==="number"?`${value}px`:text(value,otherwise);var STEPS=[1,2,5];var[MANY,TOO_MANY]=[8,16];function shown(value){if(value===0)return"0";const size=Math.abs(value);if(size>=1e6||size<.001)return value.toExponential(2).replace(/\.?0+e/,"e").replace(
"e+","e");const digits=Math.max(0,2-Math.floor(Math.log10(size)));return Number(value.toFixed(Math.min(6,digits))).toLocaleString("en",{maximumFractionDigits:6})}function axisOf({bars,log}){const values=bars.
flatMap(({value,low,high})=>[value,low,high]).filter(value=>value!==null);const known2=values.filter(value=>!log||value>0);return log&&known2.length?logarithmicAxis(known2):linearAxis(known2)}function logarithmicAxis(values){
const mark=index=>STEPS[(index%3+3)%3]*10**Math.floor(index/3);const[least,most]=[Math.min(...values),Math.max(...values)];let first=3*Math.floor(Math.log10(least))-1;while(mark(first+1)<=least*.85)first+=
1;let last=first+1;while(mark(last)<most)last+=1;const marks=Array.from({length:last-first+1},(_,index)=>first+index);const every=marks.length>TOO_MANY?3*Math.ceil(marks.length/24):marks.length>MANY?3:
1;const ticks=marks.filter(index=>index%every===0).map(mark);const[low,high]=[mark(first),mark(last)];return{low,high,log:true,ticks,at:value=>Math.log(Math.max(low,value)/low)/Math.log(high/low)}}function linearAxis(values){
const[least,most]=[Math.min(0,...values),Math.max(0,...values)];const rough=(most-least||1)/5;const unit=10**Math.floor(Math.log10(rough));const step=[1,2,5,10].map(factor=>factor*unit).find(size=>size>=
rough)||unit;const[low,high]=[step*Math.floor(least/step),step*Math.ceil((most||1)/step)];const ticks=Array.from({length:Math.round((high-low)/step)+1},(_,index)=>low+index*step);return{low,high,log:false,
ticks,at:value=>(value-low)/(high-low||1)}}var TILE={width:6,height:6,patternUnits:"userSpaceOnUse"};function makeTextures({s},{roles,series},prefix){const patterns=new Map;return{lookOf(index,tone){const colour=tone?roles[tone]:series[index%series.
length];const kind=index%4;if(!kind)return{fill:colour,colour};const id=`${prefix}-${index}${tone}`;if(!patterns.has(id)){const mark=kind===2?s("circle",{cx:3,cy:3,r:1.2,fill:roles.bg}):s("path",{d:"M\
0 0V6",stroke:roles.bg,"stroke-width":2});const turn={patternTransform:kind===1?"rotate(45)":null};patterns.set(id,s("pattern",{id,...TILE,...turn},s("rect",{width:6,height:6,fill:colour}),mark))}return{
fill:`url(#${id})`,colour}},missing(){const id=`${prefix}-missing`;const line=s("path",{d:"M0 0V6",stroke:roles.control,"stroke-width":2});patterns.set(id,s("pattern",{id,...TILE,patternTransform:"rot\
ate(-45)"},line));return`url(#${id})`},defs:()=>patterns.size?s("defs",{},[...patterns.values()]):null}}var spreadOf=({low,high})=>low!==null&&high!==null?`${shown(low)} to ${shown(high)}`:"";function describeBar(bar,unit){if(bar.value===null)return`missing: ${bar.missing||"no value"}`;const spread=spreadOf(
bar);return`${shown(bar.value)} ${unit}${spread&&` (${spread})`}${bar.tone&&`, ${TONES[bar.tone].words}`}`}var valueWords=(bar,unit)=>`${bar.tone?`${TONES[bar.tone].sign} `:""}${shown(bar.value||0)} ${unit}`;
var tonesOf=({bars})=>Object.keys(TONES).filter(tone=>bars.some(bar=>bar.tone===tone&&bar.value!==null));function tableOf({columns,rows,bars,unit}){if(columns.length)return{columns,rows};const toned=bars.
some(bar=>bar.tone);const cells=bars.map(bar=>[bar.label,bar.series,bar.value===null?bar.missing:shown(bar.value),spreadOf(bar),...toned?[bar.tone&&TONES[bar.tone].words]:[]]);return{columns:["","seri\
es",unit,"spread",...toned?["change"]:[]],rows:cells}}var[ROW,TOP]=[24,26];var[WIDTH,MIN_WIDTH,MIN_ROOM]=[760,320,80];function columnsOf(all,width){const several=all.series.length>1;const full=Math.max(MIN_WIDTH,(width||WIDTH)-26);const labels=Math.min(.32*
full,12+Math.max(0,...all.bars.map(bar=>textWidth(bar.label,12,true))));const series=several?Math.min(110,12+Math.max(...all.series.map(name=>textWidth(name,11)))):0;const values=all.bars.map(bar=>bar.
value===null?0:textWidth(valueWords(bar,all.unit),12));const left=labels+series;return{left,room:Math.max(MIN_ROOM,full-left-16-Math.max(40,...values)),full,labels,series,several}}function chartOf(make,all,palette,width,name){
const{s}=make;const textures=makeTextures(make,palette,`${name}-bar`);const columns=columnsOf(all,width);const{left,full,several}=columns;const draw=rowMaker(make,all,palette,columns,textures);let y=TOP;
const rows=all.bars.map((bar,index)=>{const same=index>0&&all.bars[index-1].label===bar.label;if(index)y+=same?ROW-3:ROW+(several?8:3);return s("g",{transform:`translate(0 ${y})`,"data-bar":index},draw(
bar,same))});const bottom=y+ROW/2+4;const unit=`${all.unit}${axisOf(all).log?", logarithmic":""}`;const counts=tonesOf(all).map(tone=>`${all.bars.filter(bar=>bar.tone===tone).length} ${TONES[tone].words}`);
const summary=`${all.title}: ${all.bars.length} ${axisOf(all).log?"dots":"bars"} in ${unit}${counts.length?`; ${counts.join(", ")}`:""}.`;return s("svg",{width:full,height:bottom+20,role:"img","aria-l\
abel":`${summary} The table has the same values.`},textures.defs(),axisParts(s,all,palette,columns,bottom),s("text",{class:"ceb-quiet",x:left,y:bottom+9,text:unit}),rows)}function axisParts(s,all,{roles},{
left,room},bottom){const axis=axisOf(all);let edge=-Infinity;return axis.ticks.flatMap(tick=>{const x=left+room*axis.at(tick);const line=s("path",{d:`M${x} 14V${bottom}`,stroke:roles.line,"stroke-widt\
h":1});const text2=shown(tick);const half=textWidth(text2,11)/2;if(x-half<edge+8)return[line];edge=x+half;return[line,s("text",{class:"ceb-quiet",x,y:6,"text-anchor":"middle",text:text2})]})}function rowMaker({
s},all,{roles},columns,textures){const{left,room,full,several}=columns;const axis=axisOf(all);const zero=axis.log?0:axis.at(0);const missing=textures.missing();const whyNot=({value,missing:reason})=>value===
null?reason||"no value":axis.log&&value<=0?`${shown(value)} ${all.unit} cannot be shown on a logarithmic axis`:"";const gap=text2=>[s("rect",{x:left,y:-8,width:46,height:16,rx:2,fill:missing,stroke:roles.
control,"stroke-dasharray":"3 3"}),s("text",{class:"ceb-quiet",x:left+54,text:clip(text2,11,full-left-60)})];const valueParts=(bar,value)=>{const look=textures.lookOf(Math.max(0,all.series.indexOf(bar.
series)),bar.tone);const[from,to]=[Math.min(zero,axis.at(value)),Math.max(zero,axis.at(value))];const size={x:left+room*from,y:-8,width:Math.max(1.5,room*(to-from)),height:16,rx:2};const{low,high}=bar;
const whisker=low!==null&&high!==null&&(!axis.log||low>0)?[axis.at(low),axis.at(high)]:null;const end=whisker?Math.max(to,whisker[1]):to;const interval=whisker?whiskerParts(left+room*whisker[0],left+room*
whisker[1]):[];const mark=axis.log?[...interval,dotOf(left+room*axis.at(value),all.series.indexOf(bar.series),look)]:[s("rect",{class:"ceb-bar",...size,fill:look.fill,stroke:look.colour}),...interval];
return[...mark,s("text",{x:left+room*end+7,text:valueWords(bar,all.unit)})]};const dotOf=(x,series,{colour})=>{const style={class:"ceb-bar ceb-dot",fill:colour,stroke:roles.bg,"stroke-width":1};return series%
2>0?s("path",{...style,d:`M${x} -6.5L${x+6.5} 0L${x} 6.5L${x-6.5} 0Z`}):s("circle",{...style,cx:x,cy:0,r:5.5})};const whiskerParts=(a,b)=>{const line={class:"ceb-whisker",d:`M${a} 0H${b}M${a} -5V5M${b}\
 -5V5`,fill:"none"};return[s("path",{...line,stroke:roles.bg,"stroke-width":4.5}),s("path",{...line,stroke:roles.fg,"stroke-width":1.6})]};return(bar,same)=>{const label={class:"ceb-label",x:columns.labels-
10,"text-anchor":"end"};const series={class:"ceb-quiet",x:left-8,"text-anchor":"end"};const why=whyNot(bar);return[s("title",{text:[bar.label,bar.series,describeBar(bar,all.unit)].filter(Boolean).join(
", ")}),!same&&s("text",{...label,text:clip(bar.label,12,columns.labels-12,true)}),several&&s("text",{...series,text:clip(bar.series,11,columns.series-8)}),...why?gap(why):valueParts(bar,bar.value||0)]}}var VERSION=1;function parseJson(what,json){try{return typeof json==="string"?JSON.parse(json):json}catch(error){throw new Error(`${what} not JSON: ${errorText(error)}`)}}function checkVersion(what,version){if(typeof version===
"number"&&version>VERSION){throw new Error(`${what} version ${version}; this drawing knows version ${VERSION}. Update the explorer.`)}}var errorText=error=>error instanceof Error?error.message:String(
error);function readBars(json){if(json==null||json==="")return null;const raw=parseJson("The bars are",json);if(!raw||typeof raw!=="object"||!Array.isArray(raw.bars))throw new Error("The bars have no list of\
 bars.");checkVersion("The bars have",raw.version);const bars=raw.bars.map(readBar);const named=texts(raw.series);const extra=[...new Set(bars.map(bar=>bar.series))].filter(name=>!named.includes(name));
const table=raw.table&&typeof raw.table==="object"?raw.table:{};return{title:text(raw.title),unit:text(raw.unit),log:raw.log===true,series:[...named,...extra],bars,note:text(raw.note),columns:texts(table.
columns),rows:list(table.rows).map(texts)}}var readBar=bar=>({label:text(bar?.label),value:numberOrNull(bar?.value),low:numberOrNull(bar?.low),high:numberOrNull(bar?.high),series:text(bar?.series),missing:text(
bar?.missing),tone:Object.hasOwn(TONES,text(bar?.tone))?text(bar.tone):""});var SVG="http://www.w3.org/2000/svg";function maker(doc){const fill=(element,attributes,children)=>{for(const[name,value]of Object.entries(attributes||{})){if(value==null||value===false)continue;if(name===
"text")element.textContent=value;else if(typeof value==="function")element.addEventListener(name.slice(2),value);else element.setAttribute(name,value===true?"":String(value))}for(const child of children.
flat())if(child)element.appendChild(child);return element};return{doc,h:(tag,attributes={},...children)=>fill(doc.createElement(tag),attributes,children),s:(tag,attributes={},...children)=>fill(doc.createElementNS(
SVG,tag),attributes,children)}}var OWN=Math.random().toString(36).slice(2,8);var serial=0;var uniqueName=prefix=>`${prefix}${OWN}-${serial+=1}`;function onChanges(model,readers){const known2=Object.entries(readers);for(const[name,read]of known2)model.on(`change:${name}`,read);return()=>known2.forEach(([name,read])=>model.off(`change:${name}`,
read))}function onChangesTogether(model,readers){const changed=new Set;let alive=true;const read=()=>{const due=new Set(Object.keys(readers).flatMap(name=>changed.has(name)?[readers[name]]:[]));changed.
clear();if(alive)for(const reader of due)reader()};const notes=Object.keys(readers).map(name=>{const note=()=>{if(!changed.size)Promise.resolve().then(read);changed.add(name)};return[name,note]});const stop=onChanges(
model,Object.fromEntries(notes));return()=>{alive=false;stop()}}var STYLE=`
.ceb-root{box-sizing:border-box;width:100%;font:13px/1.4 ${FONT};color:var(--ceb-fg);background:var(--ceb-bg);border:1px solid var(--ceb-line);border-radius:8px;overflow:hidden;text-align:left}
.ceb-root *{box-sizing:border-box}
.ceb-root [hidden]{display:none!important}
.ceb-head{display:flex;flex-wrap:wrap;align-items:center;gap:4px 16px;padding:8px 12px 4px}
.ceb-head h2{margin:0;font-size:14px;font-weight:650;flex:1 1 auto;color:inherit}
.ceb-legend{display:flex;flex-wrap:wrap;gap:2px 14px;margin:0;padding:0;list-style:none;font-size:12px}
.ceb-legend li{display:inline-flex;align-items:center;gap:6px}
.ceb-root button{font:inherit;font-weight:500;color:inherit;height:28px;padding:0 10px;border:1px solid var(--ceb-control);border-radius:6px;background:var(--ceb-bg);cursor:pointer}
.ceb-root button:hover{background:var(--ceb-soft)}
.ceb-root button[aria-pressed=true]{background:var(--ceb-soft);border-color:var(--ceb-accent);box-shadow:inset 0 -2px 0 var(--ceb-accent)}
.ceb-root :focus-visible{outline:2px solid var(--ceb-accent);outline-offset:2px}
.ceb-body{overflow:auto;padding:0 12px 4px}
.ceb-body svg{display:block;overflow:visible}
.ceb-body text{dominant-baseline:central;font-family:inherit;font-size:12px;fill:var(--ceb-fg);font-variant-numeric:tabular-nums}
.ceb-body text.ceb-quiet{fill:var(--ceb-muted);font-size:11px}
.ceb-body text.ceb-label{font-weight:600}
.ceb-body table{border-collapse:collapse;width:100%;font-size:12.5px;font-variant-numeric:tabular-nums;color:inherit;margin:0 0 8px}
.ceb-body th,.ceb-body td{text-align:left;padding:4px 10px;border-bottom:1px solid var(--ceb-line)}
.ceb-body th{border-bottom:2px solid var(--ceb-control)}
.ceb-note{margin:0;padding:4px 12px 8px;color:var(--ceb-muted)}
.ceb-wrong{margin:8px 12px;padding:8px 12px;border-left:4px solid var(--ceb-error)}
@media (forced-colors:active){.ceb-body svg,.ceb-legend svg{forced-color-adjust:none}}
`;function render({model,el}){const doc=el.ownerDocument||document;const make=maker(doc);const{h,s}=make;const name=uniqueName("ceb");let showTable=false;let width=0;prepareMeasuring(doc);const toggleTable=()=>{
showTable=!showTable;draw()};const title=h("h2");const legend=h("ul",{class:"ceb-legend","aria-label":"Series"});const toggle=h("button",{type:"button","aria-pressed":"false",text:"Table",onclick:toggleTable});
const body=h("div",{class:"ceb-body"});const note=h("p",{class:"ceb-note"});const root=h("div",{class:"ceb-root",role:"region","aria-label":"Bars","data-lm-suppress-shortcuts":"true"},h("div",{class:"\
ceb-head"},title,legend,toggle),body,note);const options=()=>asDict(model.get("options"));function colours(){const{theme,height}=options();const palette=paletteFor(doc,theme);applyPalette(root,palette,
"ceb");body.style.setProperty("max-height",heightOf(height)||"none");return palette}function entry(words,index,tone,palette){const textures=makeTextures(make,palette,`${name}-legend`);const{fill,colour}=textures.
lookOf(index,tone);const swatch=s("rect",{width:22,height:12,rx:2,fill,stroke:colour});const picture=s("svg",{width:22,height:12,"aria-hidden":"true"},textures.defs(),swatch);return h("li",{},picture,
h("span",{text:words}))}function drawFrame(bars,entries){title.textContent=bars?bars.title:"";note.textContent=bars?bars.note:"";note.hidden=!note.textContent;toggle.hidden=!bars;toggle.setAttribute("\
aria-pressed",String(showTable));root.setAttribute("aria-label",bars&&bars.title?bars.title:"Bars");legend.replaceChildren(...entries)}function draw(){const palette=colours();let bars=null;let wrong="";
try{bars=readBars(model.get("bars"))}catch(error){wrong=`Cannot draw these bars. ${errorText(error)}`}if(!bars){drawFrame(null,[]);body.replaceChildren(wrong?h("div",{class:"ceb-wrong",role:"alert",text:wrong}):
h("p",{class:"ceb-note",text:"Nothing measured yet."}));return}const tones=tonesOf(bars);const series=bars.series.length>1?bars.series:[];legend.setAttribute("aria-label",tones.length?"Legend":"Series");
drawFrame(bars,[...series.map((words,index)=>entry(words,index,"",palette)),...tones.map(tone=>entry(`${TONES[tone].sign} ${TONES[tone].words}`,0,tone,palette))]);body.replaceChildren(showTable?tableElement(
bars):chartOf(make,bars,palette,width,name))}function tableElement(bars){const{columns,rows}=tableOf(bars);const heads=columns.map(column=>h("th",{scope:"col",text:column}));const cells=rows.map(row=>h(
"tr",{},row.map(cell=>h("td",{text:cell}))));return h("table",{"aria-label":bars.title},h("thead",{},h("tr",{},heads)),h("tbody",{},cells))}const closing=[onChangesTogether(model,{bars:draw,options:draw}),
watchTheme(doc,draw)];if(typeof ResizeObserver==="function"){const watch=new ResizeObserver(()=>{if(Math.abs(root.clientWidth-width)<2)return;width=root.clientWidth;draw()});watch.observe(root);closing.
push(()=>watch.disconnect())}const sheet=h("style",{text:STYLE});el.appendChild(sheet);el.appendChild(root);width=root.clientWidth||0;draw();return()=>{for(const close of closing)close();sheet.remove();
root.remove()}}var bars_default={render};export{bars_default as default};
