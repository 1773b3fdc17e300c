// Made from widgets/js/ by `npm run build` there: edit the sources, not this file.
function parseJson(what,json){try{return typeof json==="string"?JSON.parse(json):json}catch(error){throw new Error(`${what} not JSON: ${errorText(error)}`)}}var errorText=error=>error instanceof Error?error.message:String(error);var SVG="http://www.w3.org/2000/svg";function maker(doc){const fill=(element,attributes,children)=>{for(const[name,value]of Object.entries(attributes||{})){if(value==null||value===false)continue;if(name===
"text")element.textContent=value;else if(typeof value==="function")element.addEventListener(name.slice(2),value);else element.setAttribute(name,value===true?"":String(value))}for(const child of children.
flat())if(child)element.appendChild(child);return element};return{doc,h:(tag,attributes={},...children)=>fill(doc.createElement(tag),attributes,children),s:(tag,attributes={},...children)=>fill(doc.createElementNS(
SVG,tag),attributes,children)}}var OWN=Math.random().toString(36).slice(2,8);function focusedIn(root){const tree=root.getRootNode?root.getRootNode():root.ownerDocument;return tree.activeElement||root.ownerDocument.activeElement||null}var FONT='system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", sans-serif';var text=(value,otherwise="")=>typeof value==="string"?value:value==null?otherwise:String(value);var number=(value,otherwise=0)=>typeof value==="number"&&Number.isFinite(value)?value:otherwise;var list=value=>Array.isArray(value)?value:[];var texts=value=>list(value).map(item=>text(item));var record=value=>value&&typeof value==="object"&&!Array.isArray(value)?value:{};function asDict(value){
if(value instanceof Map)return Object.fromEntries(value);if(typeof value==="string")return value.trim()?record(JSON.parse(value)):{};return record(value)}var theme_default={light:{roles:{bg:"#ffffff",ground:"#f7f8fa",panel:"#ffffff",fg:"#16191d",muted:"#565d66",line:"#d5d9df",control:"#858c96",box:"#ffffff",kept:"#7d858f",edge:"#88909a",accent:"#0a5fb4",
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
ssFill",width:2,dash:[2,4],hatch:false}},tones:{faster:{sign:"▼",words:"faster"},slower:{sign:"▲",words:"slower"},noise:{sign:"≈",words:"within the noise"}}};var TABLES={light:theme_default.light,dark:theme_default.dark,forced:theme_default.forced};var palettes=new Map;function paletteOf(theme,forced){const key=`${theme} ${forced}`;const known=palettes.get(
key);if(known)return known;const made={theme,forced,...TABLES[forced?"forced":theme]};palettes.set(key,made);return made}var paletteFor=(doc,wish)=>paletteOf(wish==="dark"||wish==="light"?wish:hostTheme(
doc),matchesMedia("(forced-colors: active)"));function applyPalette(root,{theme,roles},prefix){root.setAttribute("data-theme",theme);for(const[role,colour]of Object.entries(roles))root.style.setProperty(
`--${prefix}-${role}`,colour);root.style.setProperty("color-scheme",theme)}var matchesMedia=query=>typeof matchMedia==="function"&&matchMedia(query).matches;function hostTheme(doc){for(const element of[
doc.body,doc.documentElement]){if(!element||!element.getAttribute)continue;const lab=element.getAttribute("data-jp-theme-light");if(lab)return lab==="true"?"light":"dark";for(const name of["data-theme",
"data-mui-color-scheme","data-bs-theme","data-vscode-theme-kind","theme"]){const value=element.getAttribute(name)||"";if(/dark/.test(value))return"dark";if(/light/.test(value))return"light"}const classes=element.
getAttribute("class")||"";if(/(^|\s)(dark|dark-theme|dark-mode)(\s|$)/.test(classes))return"dark";if(/(^|\s)(light|light-theme|light-mode)(\s|$)/.test(classes))return"light"}return matchesMedia("(pref\
ers-color-scheme: dark)")?"dark":"light"}var WATCHED=["class","theme","data-theme","data-jp-theme-light","data-mui-color-scheme","data-bs-theme","data-vscode-theme-kind"];function watchTheme(doc,callback){
const closing=[];if(typeof matchMedia==="function"){for(const query of["(prefers-color-scheme: dark)","(forced-colors: active)"]){const media=matchMedia(query);if(!media.addEventListener)continue;media.
addEventListener("change",callback);closing.push(()=>media.removeEventListener("change",callback))}}if(typeof MutationObserver==="function"){const watch=new MutationObserver(callback);const filter={attributes:true,
attributeFilter:WATCHED};for(const element of[doc.documentElement,doc.body])if(element)watch.observe(element,filter);closing.push(()=>watch.disconnect())}return()=>closing.forEach(close=>close())}var CHANGES=theme_default.
changes;var HULLS=theme_default.hulls;var TONES=theme_default.tones;var heightOf=(value,otherwise="")=>typeof value==="number"?`${value}px`:text(value,otherwise);function onChanges(model,readers){const known=Object.entries(readers);for(const[name,read]of known)model.on(`change:${name}`,read);return()=>known.forEach(([name,read])=>model.off(`change:${name}`,read))}function readTree(json){if(json==null||json==="")return[];const raw=parseJson("The steps are",json);if(!Array.isArray(raw))throw new Error("The steps are not a list.");return raw.map((step,index)=>({index:Number.
isInteger(step?.index)?step.index:index,label:text(step?.label||step?.path),groups:texts(step?.groups),title:text(step?.title),summary:text(step?.summary),changed:step?.changed!==false,ok:typeof step?.
ok==="boolean"?step.ok:null,error:text(step?.error),counted:text(step?.counted)||"layers",layers:number(step?.layers)}))}var isBad=({error,ok})=>Boolean(error)||ok===false;function stepsShown(steps,{current,
only,filter}){const words=filter.toLowerCase().split(/\s+/).filter(Boolean);return steps.filter(step=>{if(only&&!step.changed&&!isBad(step)&&step.index!==current&&step.index!==0)return false;const searched=`${step.
title} ${step.summary} ${step.groups.join(" ")} ${step.label}`.toLowerCase();return words.every(word=>searched.includes(word))})}function itemsOf(steps,isClosed){const items=[];let open=[];for(const step of steps){const names=step.groups.map((_,depth2)=>step.groups.slice(0,depth2+1).join("/"));const parentOf=depth2=>depth2?`g${names[depth2-
1]}`:"";const closed=names.findIndex(isClosed);const shown=closed<0?names:names.slice(0,closed+1);shown.forEach((group,depth2)=>{if(open[depth2]===group)return;open=[...open.slice(0,depth2),group];const label=step.
groups[depth2];items.push({key:`g${group}`,parent:parentOf(depth2),depth:depth2,group,label,step:null})});if(closed>=0)continue;const depth=names.length;open=open.slice(0,depth);items.push({key:`s${step.
index}`,parent:parentOf(depth),depth,group:"",label:step.label,step})}return items}function treeElements({h},items,{current,isClosed,choose,toggle}){const children=[];const lists=[{append:child=>void children.
push(child)}];const rows=items.map(({depth,group,label,step})=>{const item={class:"ces-row",role:"treeitem",tabindex:"-1","aria-level":depth+1};const row=step?h("div",{...item,...stepAttributes(step,current),
onclick:()=>choose(step.index)},stepParts(h,step)):h("div",{...item,"aria-expanded":String(!isClosed(group)),onclick:()=>toggle(group)},[h("span",{class:"ces-arrow","aria-hidden":"true",text:"▸"}),h(
"span",{class:"ces-label",text:label})]);row.style.setProperty("--ces-depth",String(depth));const inner=step?null:h("ul",{role:"group",hidden:isClosed(group)});lists[depth].append(h("li",{class:inner?
"ces-group":null,role:"none"},row,inner));if(inner)lists[depth+1]={append:child=>inner.appendChild(child)};return row});return{children,rows}}var stepAttributes=(step,current)=>({"data-step":step.index,
"aria-selected":String(step.index===current),title:[step.title,step.summary,step.error].filter(Boolean).join("\n")});function stepParts(h,step){const bad=isBad(step);const sign=bad?"✕":step.ok?"✓":
"";const agrees=step.ok===null?"":`the output ${step.ok?"agrees":"differs"}`;const words=[step.counted.toLowerCase(),step.error?"failed":agrees];return[h("span",{class:"ces-label",text:step.label}),h(
"span",{class:"ces-what",text:step.summary}),h("span",{class:"ces-count",text:step.layers.toLocaleString("en")}),h("span",{class:"ces-said",text:words.filter(Boolean).join(", ")}),h("span",{class:`ces\
-mark${bad?" ces-bad":""}`,"aria-hidden":"true",text:sign})]}var STYLE=`
.ces-root{box-sizing:border-box;display:flex;flex-direction:column;width:100%;min-height:0;font:13px/1.35 ${FONT};color:var(--ces-fg);background:var(--ces-bg);text-align:left;overflow:hidden}
.ces-root *{box-sizing:border-box}
.ces-root [hidden]{display:none!important}
.ces-head{display:flex;flex-direction:column;gap:6px;padding:8px 10px;border-bottom:1px solid var(--ces-line)}
.ces-head h2{margin:0;font-size:13px;font-weight:650;color:inherit}
.ces-head input[type=search]{font:inherit;color:inherit;width:100%;height:28px;padding:0 8px;border:1px solid var(--ces-control);border-radius:6px;background:var(--ces-bg)}
.ces-head label{display:flex;align-items:center;gap:6px;min-height:24px;cursor:pointer}
.ces-head input[type=checkbox]{width:16px;height:16px;margin:0;accent-color:var(--ces-accent)}
.ces-tree{flex:1 1 auto;min-height:0;overflow:auto;margin:0;padding:4px 0;list-style:none}
.ces-tree ul{margin:0;padding:0;list-style:none}
.ces-row{position:relative;display:flex;align-items:baseline;gap:6px;min-height:26px;padding:4px 10px 4px calc(10px + 14px*var(--ces-depth));cursor:pointer;border-left:3px solid transparent}
.ces-row:hover{background:var(--ces-soft)}
.ces-group>.ces-row{color:var(--ces-muted);font-weight:600}
.ces-arrow{flex:none;width:10px;transition:transform .12s}
[aria-expanded=true]>.ces-arrow{transform:rotate(90deg)}
.ces-row[aria-selected=true]{background:var(--ces-soft);border-left-color:var(--ces-accent);font-weight:650}
.ces-label{flex:0 1 auto;min-width:0;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.ces-what{flex:1 1 0;min-width:0;white-space:nowrap;overflow:hidden;text-overflow:ellipsis;color:var(--ces-muted);font-size:12px;font-weight:400}
.ces-count{flex:none;font-size:12px;font-weight:400;font-variant-numeric:tabular-nums}
.ces-mark{flex:none;width:14px;text-align:center;font-weight:700;color:var(--ces-good)}
.ces-mark.ces-bad{color:var(--ces-error)}
.ces-said{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.ces-row:focus{outline:none}
.ces-row:focus-visible{outline:2px solid var(--ces-accent);outline-offset:-2px}
.ces-root :is(input,button):focus-visible{outline:2px solid var(--ces-accent);outline-offset:2px}
.ces-none{padding:8px 12px;color:var(--ces-muted);margin:0}
@media (prefers-reduced-motion:reduce){.ces-arrow{transition:none}}
`;function render({model,el}){const doc=el.ownerDocument||document;const make=maker(doc);const{h}=make;let steps=[];let wrong="";let step=0;const closed=new Set;let focused="";let items=[];let rows=[];
const only=h("input",{type:"checkbox",onchange:()=>draw()});only.checked=true;const search=h("input",{type:"search",placeholder:"Filter steps","aria-label":"Filter steps",oninput:()=>draw()});const tree=h(
"ul",{class:"ces-tree",role:"tree","aria-label":"Steps",onkeydown:event=>key(event)});const none=h("p",{class:"ces-none",hidden:true});const root=h("div",{class:"ces-root"},h("div",{class:"ces-head"},
h("h2",{text:"Steps"}),search,h("label",{},only,h("span",{text:"changing steps only"}))),tree,none);const sheet=h("style",{text:STYLE});function colour(){const{theme,height}=asDict(model.get("options"));
applyPalette(root,paletteFor(doc,theme),"ces");if(height)root.style.setProperty("height",heightOf(height))}function choose(index){focused=`s${index}`;if(index!==step){step=index;model.set("step",index);
model.save_changes()}draw()}function toggle(name){if(closed.has(name))closed.delete(name);else closed.add(name);focused=`g${name}`;draw()}function draw(){const had=rows.includes(focusedIn(root));const filter=String(
search.value||"");const shown=stepsShown(steps,{current:step,only:only.checked,filter});const isClosed=group=>!filter&&closed.has(group);items=itemsOf(shown,isClosed);const elements=treeElements(make,
items,{current:step,isClosed,choose,toggle});rows=elements.rows;tree.replaceChildren(...elements.children);none.hidden=shown.length>0;none.textContent=wrong||(steps.length?"No step matches the filter.":
"No steps yet.");if(!items.length)return;const current=rowOf(`s${step}`);const stop=rowOf(focused)||current||rows[0];stop.setAttribute("tabindex","0");if(had&&stop.focus)stop.focus();if(current&&current.
scrollIntoView)current.scrollIntoView({block:"nearest"})}const rowOf=key2=>rows[items.findIndex(item=>item.key===key2)];function focus(at){const next=Math.max(0,Math.min(items.length-1,at));rows.forEach(
(row,index)=>row.setAttribute("tabindex",index===next?"0":"-1"));focused=items[next].key;if(rows[next].focus)rows[next].focus()}function key(event){const at=Math.max(0,rows.findIndex(row=>row.getAttribute(
"tabindex")==="0"));const item=items[at];if(!item||event.altKey||event.ctrlKey||event.metaKey)return;const act=()=>item.step?choose(item.step.index):toggle(item.group);const isOpen=!item.step&&!closed.
has(item.group);const acts={ArrowDown:()=>focus(at+1),ArrowUp:()=>focus(at-1),Home:()=>focus(0),End:()=>focus(items.length-1),ArrowRight:()=>{if(isOpen)focus(at+1);else if(!item.step)toggle(item.group)},
ArrowLeft:()=>{if(isOpen)toggle(item.group);else if(item.parent)focus(items.findIndex(other=>other.key===item.parent))},Enter:act," ":act};if(!acts[event.key])return;event.preventDefault();event.stopPropagation();
acts[event.key]()}function read(){wrong="";try{steps=readTree(model.get("steps"))}catch(error){steps=[];wrong=`Cannot show the steps. ${errorText(error)}`}step=Number(model.get("step"))||0;draw()}function follow(){
step=Number(model.get("step"))||0;focused=`s${step}`;draw()}const closing=[onChanges(model,{steps:read,step:follow,options:colour}),watchTheme(doc,colour)];el.appendChild(sheet);el.appendChild(root);colour();
read();return()=>{for(const close of closing)close();sheet.remove();root.remove()}}var steps_default={render};export{steps_default as default};
