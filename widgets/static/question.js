// Made from widgets/js/ by `npm run build` there: edit the sources, not this file.
var VERSION=1;function parseJson(what,json){try{return typeof json==="string"?JSON.parse(json):json}catch(error){throw new Error(`${what} not JSON: ${errorText(error)}`)}}function checkVersion(what,version){if(typeof version===
"number"&&version>VERSION){throw new Error(`${what} version ${version}; this drawing knows version ${VERSION}. Update the explorer.`)}}var errorText=error=>error instanceof Error?error.message:String(
error);var text=(value,otherwise="")=>typeof value==="string"?value:value==null?otherwise:String(value);var list=value=>Array.isArray(value)?value:[];var texts=value=>list(value).map(item=>text(item));var record=value=>value&&typeof value==="object"&&!Array.isArray(value)?value:{};function asDict(value){
if(value instanceof Map)return Object.fromEntries(value);if(typeof value==="string")return value.trim()?record(JSON.parse(value)):{};return record(value)}var LISTED=6;function readQuestion(json){const raw=parseJson("The question is",json);if(!raw||typeof raw!=="object"||!(raw.choices||raw.number||raw.clicks)){throw new Error("The question has no answer\
s.")}checkVersion("The question has",raw.version);return{text:text(raw.text),hint:text(raw.hint),choices:raw.choices||null,number:raw.number||null,clicks:raw.clicks||null}}var listed=nodes=>nodes.length<=
LISTED?nodes.join(", "):`${nodes.slice(0,LISTED).join(", ")} ... (${nodes.length.toLocaleString("en")} in all)`;function verdictOf({choices,number,clicks},answer){if(choices)return choices[text(answer)];
if(number)return answer===number.answer?{right:true,text:number.right}:{right:false,text:number.wrong};const{about,wanted,right,why,apart}=clicks;const given=[...new Set(list(answer))].filter(node=>node!==
about);const wrong=given.filter(node=>!wanted.includes(node));const missing=wanted.filter(node=>!given.includes(node));if(!wrong.length&&!missing.length)return{right:true,text:right};const parts=[];if(wrong.
length)parts.push(`Not these: ${listed(wrong)}. Layer ${wrong[0]}: ${text(apart[wrong[0]])}`);if(missing.length)parts.push(`Missing: ${listed(missing)}.`);return{right:false,text:[...parts,why].join("\
 ")}}function hintOf({hint,clicks},answer){if(!clicks)return`Not yet. ${hint} Try once more.`;const given=[...new Set(list(answer))].filter(node=>node!==clicks.about);const wrong=given.filter(node=>!clicks.
wanted.includes(node)).length;const missing=clicks.wanted.filter(node=>!given.includes(node)).length;const off=[wrong&&`${wrong} of the chosen ${wrong===1?"does":"do"} not belong`,missing&&`${missing}\
 ${missing===1?"is":"are"} missing`].filter(Boolean);return`Not yet: ${off.join(", ")}. ${hint} Try once more.`}var SVG="http://www.w3.org/2000/svg";function maker(doc){const fill=(element,attributes,children)=>{for(const[name,value]of Object.entries(attributes||{})){if(value==null||value===false)continue;if(name===
"text")element.textContent=value;else if(typeof value==="function")element.addEventListener(name.slice(2),value);else element.setAttribute(name,value===true?"":String(value))}for(const child of children.
flat())if(child)element.appendChild(child);return element};return{doc,h:(tag,attributes={},...children)=>fill(doc.createElement(tag),attributes,children),s:(tag,attributes={},...children)=>fill(doc.createElementNS(
SVG,tag),attributes,children)}}var OWN=Math.random().toString(36).slice(2,8);var serial=0;var uniqueName=prefix=>`${prefix}${OWN}-${serial+=1}`;var FONT='system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", sans-serif';var theme_default={light:{roles:{bg:"#ffffff",ground:"#f7f8fa",panel:"#ffffff",fg:"#16191d",muted:"#565d66",line:"#d5d9df",control:"#858c96",box:"#ffffff",kept:"#7d858f",edge:"#88909a",accent:"#0a5fb4",
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
changes;var HULLS=theme_default.hulls;var TONES=theme_default.tones;function onChanges(model,readers){const known=Object.entries(readers);for(const[name,read]of known)model.on(`change:${name}`,read);return()=>known.forEach(([name,read])=>model.off(`change:${name}`,read))}var STYLE=`
.ceq-root{box-sizing:border-box;width:100%;margin-top:6px;padding:10px 14px 12px;font:14px/1.45 ${FONT};color:var(--ceq-fg);background:var(--ceq-ground);border:1px solid var(--ceq-line);border-radius:\
8px;text-align:left}
.ceq-root *{box-sizing:border-box}
.ceq-root [hidden]{display:none!important}
.ceq-root fieldset{margin:0;padding:0;border:0;min-width:0}
.ceq-root legend{padding:0;margin:0 0 6px;font-weight:650;color:inherit;overflow-wrap:anywhere}
.ceq-root p{margin:0}
.ceq-choices{display:flex;flex-wrap:wrap;gap:4px 18px}
.ceq-choices label,.ceq-number{display:inline-flex;align-items:center;gap:8px;min-height:28px;cursor:pointer;color:inherit;font-weight:400}
.ceq-root input[type=radio]{width:18px;height:18px;margin:0;accent-color:var(--ceq-accent);flex:none}
.ceq-root input[type=number]{font:inherit;font-variant-numeric:tabular-nums;width:7.5em;height:30px;padding:0 8px;color:var(--ceq-fg);background:var(--ceq-bg);border:1px solid var(--ceq-control);borde\
r-radius:6px}
.ceq-how{color:var(--ceq-muted)}
.ceq-picked{font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.ceq-buttons{display:flex;flex-wrap:wrap;gap:8px;margin-top:10px}
.ceq-root button{font:inherit;font-weight:600;height:30px;padding:0 14px;border:1px solid var(--ceq-control);border-radius:6px;color:var(--ceq-fg);background:var(--ceq-bg);cursor:pointer}
.ceq-root button:hover{background:var(--ceq-soft)}
.ceq-root button.ceq-main{color:var(--ceq-onAccent);background:var(--ceq-accent);border-color:var(--ceq-accent)}
.ceq-root button:disabled{opacity:.5;cursor:default}
.ceq-root :focus-visible{outline:2px solid var(--ceq-accent);outline-offset:2px}
.ceq-verdict{display:flex;gap:10px;align-items:baseline;overflow-wrap:anywhere}
.ceq-verdict:not(:empty){margin-top:10px;padding:7px 12px;border-left:4px solid var(--ceq-line);border-radius:0 6px 6px 0;background:var(--ceq-bg)}
.ceq-verdict.ceq-good{border-left-color:var(--ceq-good);background:var(--ceq-goodFill)}
.ceq-verdict.ceq-bad{border-left:4px double var(--ceq-bad);background:var(--ceq-badFill)}
.ceq-sign{flex:none;font-size:17px;line-height:1;font-weight:800}
.ceq-good .ceq-sign{color:var(--ceq-good)}
.ceq-bad .ceq-sign{color:var(--ceq-bad)}
@media (forced-colors:active){.ceq-root button.ceq-main{forced-color-adjust:none}}
`;var CLICKING="Click a box in the picture to choose it, and again to remove it; or move with the arrow keys and press Enter.";function render({model,el}){const doc=el.ownerDocument||document;const{h}=maker(
doc);const name=uniqueName("ceq");let question=null;let given="";let clicked=[];let checked="";let hinted=false;const sheet=h("style",{text:STYLE});const legend=h("legend");const input=h("div");const picked=h(
"p",{class:"ceq-picked",role:"status"});const check=h("button",{type:"button",class:"ceq-main",text:"Check",onclick:()=>checkAnswer()});const reveal=h("button",{type:"button",text:"Reveal",onclick:()=>turn()});
const verdict=h("div",{class:"ceq-verdict",role:"status"});const root=h("div",{class:"ceq-root",role:"group","aria-label":"Question","data-lm-suppress-shortcuts":"true"},h("fieldset",{},legend,input,picked),
h("div",{class:"ceq-buttons"},check,reveal),verdict);const revealed=()=>model.get("revealed")===true;const colour=()=>applyPalette(root,paletteFor(doc,asDict(model.get("options")).theme),"ceq");function begin(){
given="";clicked=[];hinted=false;try{question=readQuestion(model.get("question"))}catch(error){question=null;legend.textContent="";input.replaceChildren();follow();say("",`Cannot show this question. ${errorText(
error)}`);return}legend.textContent=question.text;const{choices,number,clicks}=question;if(choices)input.replaceChildren(h("div",{class:"ceq-choices"},Object.keys(choices).map(choiceOf)));else if(number)
input.replaceChildren(numberOf(number));else if(clicks)input.replaceChildren(h("p",{class:"ceq-how",text:CLICKING}));follow();say("","")}const choiceOf=words=>h("label",{},h("input",{type:"radio",name,
value:words,onchange:()=>answered(words)}),h("span",{text:words}));function numberOf(asked){const field=h("input",{type:"number",min:"0",step:"1",inputmode:"numeric",oninput:()=>answered(text(field.value)),
onkeydown:event=>{if(event.key==="Enter")checkAnswer()}});return h("label",{class:"ceq-number"},h("span",{text:asked.noun}),field)}function answered(answer){given=answer;keepVerdict()}function keepVerdict(){
verdict.hidden=checked!==answerText()}const answerText=()=>JSON.stringify([given,[...clicked].sort()]);function follow(){const open=revealed();const clicks=question&&question.clicks;if(clicks&&!open){
clicked=texts(model.get("selection")).filter(box=>Object.hasOwn(clicks.boxes,box)&&clicks.boxes[box]!==clicks.about);keepVerdict();picked.textContent=clicked.length?`Chosen: ${clicked.map(box=>clicks.
boxes[box]).join(", ")}.`:"Nothing is chosen: the answer is that no layer folds with it."}picked.hidden=!clicks||open;input.hidden=Boolean(clicks&&open);check.disabled=!question||open;reveal.hidden=!question||
!open&&model.get("answer")==null;reveal.textContent=open?"Back to the question":"Reveal"}function answerNow(){if(!question)return null;const{clicks,number}=question;if(clicks)return clicked.map(box=>clicks.
boxes[box]);if(!number)return given||null;return given.trim()!==""&&Number.isInteger(Number(given))?Number(given):null}function checkAnswer(){const answer=answerNow();if(!question||revealed())return;if(answer===
null){say("",question.number?"Enter an integer first.":"Choose an answer first.");return}const{right,text:words}=verdictOf(question,answer);if(!right&&question.hint&&!hinted&&model.get("answer")==null){
hinted=true;say("bad",hintOf(question,answer));return}say(right?"good":"bad",words);model.set("answer",answer);model.save_changes();follow()}function turn(){model.set("revealed",!revealed());model.save_changes();
follow()}function say(tone,words){checked=answerText();verdict.hidden=false;verdict.setAttribute("class",`ceq-verdict${tone?` ceq-${tone}`:""}`);const sign=tone&&h("span",{class:"ceq-sign",role:"img",
"aria-label":tone==="good"?"right":"not right",text:tone==="good"?"✓":"✕"});verdict.replaceChildren(...words?[...sign?[sign]:[],h("span",{text:words})]:[])}const readers={question:begin,selection:follow,
revealed:follow,answer:follow,options:colour};const closing=[onChanges(model,readers),watchTheme(doc,colour)];el.appendChild(sheet);el.appendChild(root);colour();begin();return()=>{for(const close of closing)
close();sheet.remove();root.remove()}}var question_default={render};export{question_default as default,hintOf,readQuestion,verdictOf};
