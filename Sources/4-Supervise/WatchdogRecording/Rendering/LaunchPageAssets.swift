// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

/// The style sheet and the script of a recording's page, beside those of every page.
enum LaunchPageAssets {
    /// The colors of states are those of Apple's thread-state trace, those of phases Apple's for launches.
    static let style: StaticString = """

        :root{--running:#0b57d0;--preempted:#e07b00;--runnable:#c4221b;--blocked:#c9ced6;--maybe:#dcc9a8;--absent:#fff;
        --mark:#6b2fb3;--early:#8250c4;--early2:#a37fd8;--middle:#1d8348;--middle2:#4ca870;--late:#0b57d0;--late2:#5b8fe0}
        @media(prefers-color-scheme:dark){:root:not([data-paper]){--running:#6ea3f5;--preempted:#e8973c;--runnable:#f2655c;
        --blocked:#434a55;--maybe:#6a5a3c;--absent:#14161a;--mark:#d0a8ff;--early:#9a6fdb;--early2:#7a55b8;--middle:#3f9e63;
        --middle2:#2c7a49;--late:#6ea3f5;--late2:#3f6fb8}}
        :root[data-paper]{--ink:#000;--paper:#fff;--soft:#f2f2f2;--line:#ccc;--quiet:#333}
        .killed{--accent:var(--bad)}.warning{color:var(--bad);font-weight:600}
        .running{fill:var(--running);background:var(--running)}.preempted{fill:var(--preempted);background:var(--preempted)}
        .runnable{fill:var(--runnable);background:var(--runnable)}.blocked{fill:var(--blocked);background:var(--blocked)}
        .maybe{fill:var(--maybe);background:var(--maybe)}.waker{background:var(--mark)}
        .early{fill:var(--early);background:var(--early)}.early.other{fill:var(--early2);background:var(--early2)}
        .middle{fill:var(--middle);background:var(--middle)}.middle.other{fill:var(--middle2);background:var(--middle2)}
        .late{fill:var(--late);background:var(--late)}.late.other{fill:var(--late2);background:var(--late2)}
        .bar{display:block;border-radius:3px}
        .figures{margin-top:.5rem}.figures td,.figures th+th{text-align:right;white-space:nowrap;min-width:4.5rem}
        .figures th[scope]{color:var(--ink);font-weight:400;white-space:nowrap}
        .loose td{min-width:0;white-space:nowrap}.loose td:first-child{white-space:normal;min-width:14rem}
        .controls{display:flex;flex-wrap:wrap;gap:.4rem;align-items:center;margin:.5rem 0}.controls[hidden]{display:none}
        button{font:inherit;font-size:.85rem;color:var(--ink);background:var(--soft);border:1px solid var(--line);
        border-radius:.3rem;padding:.2rem .7rem;cursor:pointer}
        button:focus-visible,.lanes:focus-visible{outline:3px solid var(--ink);outline-offset:2px}
        .lanes{position:relative;overflow-x:hidden;overflow-y:auto;border:1px solid var(--line);border-radius:.3rem;
        touch-action:pan-y;cursor:crosshair;-webkit-print-color-adjust:exact;print-color-adjust:exact}
        .pane{position:sticky;top:0;height:0;z-index:1}.pane canvas{position:absolute;left:0;top:0;display:block}
        .tip{position:absolute;max-width:min(26rem,90%);background:var(--ink);color:var(--paper);font-size:.8rem;
        padding:.3rem .55rem;border-radius:.3rem;pointer-events:none;overflow-wrap:anywhere;z-index:2}
        .tip[hidden]{display:none}
        .said{min-height:1.5em;font-size:.9rem;margin:.4rem 0;overflow-wrap:anywhere}
        @media print{.loose{font-size:7pt}.loose th,.loose td{padding-right:.3rem}
        .controls,.said,#keys,.tip{display:none}.bar,.lanes,.key{-webkit-print-color-adjust:exact;print-color-adjust:exact}}

        """

    /// Decodes ``LaneData``, and draws the visible part of the lanes.
    static let script: StaticString = """
        (function(){'use strict';
        var $=function(id){return document.getElementById(id)},data=JSON.parse($('data').textContent);
        var box=$('lanes'),canvas=$('canvas'),over=$('over'),said=$('said'),tip=$('tip'),pen=canvas.getContext('2d');
        var above=over.getContext('2d');
        var lanes=data.lanes.length,ROW=lanes<=8?36:22,HEAD=data.marks.length?50:34,LABEL=150,from=0,to=data.length,least=Math.max(5,data.length/1e6);
        var bytes=Uint8Array.from(atob(data.spans),function(c){return c.charCodeAt(0)}),at=0;
        function number(){var n=0,f=1,b;do{b=bytes[at++];n+=(b&127)*f;f*=128}while(b>127);return n}
        var begins=[],states=[],details=[],wakers=[],cpus=[],index={};
        data.lanes.forEach(function(lane,i){
        index[lane.id]=i;var n=lane.n,b=new Float64Array(n+1),s=new Uint8Array(n),d=new Uint32Array(n),w=new Uint32Array(n),c=new Int16Array(n),t=lane.b;
        for(var k=0;k<n;k++){var v=number();b[k]=t;s[k]=v%8;t+=Math.floor(v/8);c[k]=-1;
        if(s[k]===0)c[k]=number()-1;if(s[k]>=3&&s[k]<5){d[k]=number();w[k]=number()}}
        b[n]=t;begins.push(b);states.push(s);details.push(d);wakers.push(w);cpus.push(c)});
        var titles=['running','preempted','runnable','blocked','blocked or runnable','no record'],colors={},width=0,ratio=1,paper=false;
        var names=['running','preempted','runnable','blocked','maybe','absent'];
        function palette(){var css=getComputedStyle(document.documentElement);
        ['ink','quiet','line','paper','soft','bad','mark'].concat(names).forEach(function(n){colors[n]=css.getPropertyValue('--'+n).trim()})}
        function x(t){return LABEL+(t-from)/(to-from)*(width-LABEL)}
        function time(p){return from+(p-LABEL)/(width-LABEL)*(to-from)}
        function words(t){t=Math.max(0,t);
        return t<1e3?Math.round(t)+' µs':t<1e4?(t/1e3).toFixed(2)+' ms':t<999500?Math.round(t/1e3)+' ms':(t/1e6).toFixed(2)+' s'}
        function who(n){if(!n)return'';var w=data.wakers[n-1];if(!w.id)return', woken by an interrupt';
        return', woken by '+w.id+' "'+w.name+'"'+(w.nice?' (nice '+w.nice+')':'')+(w.own?'':' of another program')}
        function find(b,t){var l=0,h=b.length-1;while(l<h){var m=(l+h)>>1;if(b[m+1]>t)h=m;else l=m+1}return l}
        function cut(text,room){if(pen.measureText(text).width<=room)return text;
        while(text.length>1&&pen.measureText(text+'…').width>room)text=text.slice(0,-1);return text+'…'}
        function lane(i,y){
        var b=begins[i],s=states[i],n=s.length;pen.textAlign='left';pen.fillStyle=colors.ink;
        pen.fillText(cut((i===data.main?'main':data.lanes[i].name)+' '+data.lanes[i].id,LABEL-12),4,y+ROW/2+4);
        var k=find(b,from),column=-1,sums=[0,0,0,0,0,0],perPixel=(to-from)/(width-LABEL);
        function flush(){if(column<0)return;var total=0,j;for(j=0;j<6;j++)total+=sums[j];var yy=y+3;if(total>0){
        for(j=0;j<5;j++){if(!sums[j])continue;var h=(ROW-6)*sums[j]/Math.max(total,perPixel);pen.fillStyle=colors[names[j]];
        pen.fillRect(column,yy,1,h);yy+=h}}
        column=-1;sums=[0,0,0,0,0,0]}
        for(;k<n&&b[k]<to;k++){
        var l=Math.max(x(b[k]),LABEL),r=Math.min(x(b[k+1]),width);
        if(r-l>=1.5){flush();if(s[k]<5){pen.fillStyle=colors[names[s[k]]];pen.fillRect(l,y+3,Math.max(1,r-l-.25),ROW-6);
        if(details[i][k]&&r-l>40){pen.fillStyle=colors.ink;pen.fillText(cut(data.details[details[i][k]-1],r-l-6),l+3,y+ROW/2+4)}}
        }else{var c=Math.floor(l);if(c!==column){flush();column=c}sums[s[k]]+=Math.min(b[k+1],to)-Math.max(b[k],from)}}
        flush()}
        function step(room){var raw=(to-from)/Math.max(1,room/90),p=Math.pow(10,Math.floor(Math.log10(raw)));
        return raw/p>5?10*p:raw/p>2?5*p:raw/p>1?2*p:p}
        function head(y){pen.fillStyle=colors.paper;pen.fillRect(0,y,width,HEAD);pen.fillStyle=colors.quiet;pen.textAlign='center';
        var s=step(width-LABEL);for(var t=Math.ceil(from/s)*s;t<=to;t+=s){var p=x(t);
        if(p<LABEL+14||p>width-22)continue;pen.fillText(words(t),p,y+11)}
        data.phases.forEach(function(p){var l=Math.max(x(p.b),LABEL),r=Math.min(x(p.e),width);if(r<=l||p.b>to||p.e<from)return;
        pen.fillStyle=p.f%2?colors.soft:colors.line;pen.fillRect(l,y+16,Math.max(1,r-l),16);
        if(r-l>24){pen.textAlign='left';pen.fillStyle=colors.ink;pen.fillText(cut(p.name,r-l-6),l+3,y+28)}});
        pen.textAlign='left';pen.fillStyle=colors.quiet;pen.fillText('phase',4,y+28);marks(y+44)}
        function marks(y){if(!data.marks.length)return;pen.fillText('mark',4,y);var free=LABEL;
        data.marks.forEach(function(m){var p=x(m.t);if(p<LABEL||p>width)return;var text=cut(m.name,180),w=pen.measureText(text).width;
        if(p+w+6>width)p-=w+6;if(p<free)return;pen.fillText(text,p+3,y);free=p+w+12})}
        function arrow(x1,y1,y2){var d=y2>y1?1:-1;pen.beginPath();pen.arc(x1,y1,2.2,0,7);pen.fill();pen.beginPath();pen.moveTo(x1,y1);pen.lineTo(x1,y2-d*3);pen.stroke();
        pen.beginPath();pen.moveTo(x1,y2);pen.lineTo(x1-3.5,y2-d*6);pen.lineTo(x1+3.5,y2-d*6);pen.closePath();pen.fill()}
        function wakes(first,last,offset){
        pen.strokeStyle=pen.fillStyle=colors.mark;pen.lineWidth=1.2;var perPixel=(to-from)/(width-LABEL),drawn=0;
        for(var i=first;i<last&&drawn<400;i++){var b=begins[i],s=states[i];
        for(var k=find(b,from);k<s.length&&b[k]<to&&drawn<400;k++){var n=wakers[i][k];
        if(!n||b[k+1]>to||b[k+1]-b[k]<perPixel*12)continue;var j=index[data.wakers[n-1].id];
        if(j===undefined||j===i||!data.wakers[n-1].own)continue;drawn++;
        var a=HEAD+j*ROW-offset,z=HEAD+i*ROW-offset;
        arrow(x(b[k+1]),Math.max(a+ROW/2,HEAD),i>j?z+3:z+ROW-3)}}}
        var chosen=null,hover=null;
        function draw(){
        var height=box.clientHeight,offset=box.scrollTop;width=box.clientWidth;ratio=paper?2:window.devicePixelRatio||1;
        if(canvas.width!==Math.round(width*ratio)||canvas.height!==Math.round(height*ratio)){
        [canvas,over].forEach(function(c){c.width=Math.round(width*ratio);c.height=Math.round(height*ratio);
        c.style.width=width+'px';c.style.height=height+'px'})}
        pen.setTransform(ratio,0,0,ratio,0,0);pen.fillStyle=colors.paper;pen.fillRect(0,0,width,height);
        pen.font='11px system-ui,sans-serif';LABEL=width<560?92:150;
        var first=Math.max(0,Math.floor(offset/ROW)),last=Math.min(lanes,Math.ceil((offset+height-HEAD)/ROW));
        for(var i=first;i<last;i++){var y=HEAD+i*ROW-offset;pen.fillStyle=colors.soft;pen.fillRect(0,y+ROW-1,width,1);lane(i,y)}
        pen.fillStyle=colors.quiet;data.marks.forEach(function(m){if(m.t<from||m.t>to)return;pen.globalAlpha=.55;
        pen.fillRect(x(m.t)-.5,HEAD,1,height-HEAD);pen.globalAlpha=1});
        if(data.end>=from&&data.end<=to){pen.fillStyle=colors.bad;pen.fillRect(x(data.end)-1,HEAD,2,height-HEAD)}
        wakes(first,last,offset);head(0);outline()}
        function outline(){above.setTransform(ratio,0,0,ratio,0,0);above.clearRect(0,0,width,box.clientHeight);
        [chosen,hover].forEach(function(c){if(!c)return;var y=HEAD+c.i*ROW-box.scrollTop;if(y<HEAD-ROW/2)return;
        var l=Math.max(x(begins[c.i][c.k]),LABEL),r=Math.min(x(begins[c.i][c.k+1]),width);if(r<l)return;
        above.strokeStyle=colors.ink;above.lineWidth=c===chosen?2:1;above.strokeRect(l,y+1,Math.max(2,r-l),ROW-2)})}
        function tell(c){var i=c.i,k=c.k,s=states[i][k],d=details[i][k];
        return(i===data.main?'main ':'"'+data.lanes[i].name+'" ')+data.lanes[i].id+': '+titles[s]+' '+words(begins[i][k+1]-begins[i][k])+
        (d?(data.details[d-1].indexOf('stopped')?' in ':', ')+data.details[d-1]:'')+who(wakers[i][k])+(cpus[i][k]>=0?' on CPU '+cpus[i][k]:'')+', from '+words(begins[i][k])+' on'}
        var due=false;function soon(){if(!due){due=true;requestAnimationFrame(function(){due=false;draw()})}}
        function view(a,b){var l=Math.min(Math.max(b-a,least),data.length);a=Math.min(Math.max(a,0),data.length-l);from=a;to=a+l;
        $('range').textContent=words(from)+' to '+words(to);soon()}
        function zoom(f,t){t=t===undefined?(from+to)/2:t;var l=Math.min(Math.max((to-from)*f,least),data.length);
        view(t-(t-from)/(to-from)*l,t-(t-from)/(to-from)*l+l)}
        function pan(f){var d=(to-from)*f;if(from+d<0)d=-from;if(to+d>data.length)d=data.length-to;view(from+d,to+d)}
        function choose(i,k){chosen={i:i,k:k};said.textContent=tell(chosen);var b=begins[i];
        if(b[k+1]<from||b[k]>to){var l=to-from,m=(b[k]+b[k+1])/2;view(m-l/2,m+l/2)}
        var y=i*ROW;if(y<box.scrollTop)box.scrollTop=y;else if(y+ROW+HEAD>box.scrollTop+box.clientHeight)box.scrollTop=y+ROW+HEAD-box.clientHeight;soon()}
        function hit(e){var r=box.getBoundingClientRect(),px=e.clientX-r.left,py=e.clientY-r.top;if(px<LABEL||py<HEAD)return null;
        var i=Math.floor((py-HEAD+box.scrollTop)/ROW);if(i<0||i>=lanes||!states[i].length)return null;var t=time(px);
        if(t<begins[i][0]||t>begins[i][states[i].length])return null;return{i:i,k:find(begins[i],t),px:px,py:py}}
        var drag=null,touches={};
        box.addEventListener('pointermove',function(e){
        if(drag&&drag.id===e.pointerId){var dx=e.clientX-drag.x;if(Math.abs(dx)>3)drag.moved=true;
        if(drag.moved){var d=-dx/(width-LABEL)*(drag.to-drag.from);view(drag.from+Math.min(Math.max(d,-drag.from),data.length-drag.to),drag.to+Math.min(Math.max(d,-drag.from),data.length-drag.to))}}
        hover=hit(e);if(hover&&!(drag&&drag.moved)){tip.textContent=tell(hover);tip.hidden=false;
        tip.style.left=Math.max(4,Math.min(hover.px+12,width-tip.offsetWidth-4))+'px';
        tip.style.top=(hover.py+tip.offsetHeight+24>box.clientHeight?hover.py-tip.offsetHeight-10:hover.py+18)+'px'}else tip.hidden=true;
        outline()});
        box.addEventListener('pointerleave',function(){hover=null;tip.hidden=true;outline()});
        box.addEventListener('pointerdown',function(e){if(e.button===0)drag={id:e.pointerId,x:e.clientX,from:from,to:to,moved:false}});
        addEventListener('pointerup',function(e){if(drag&&!drag.moved&&e.target!==document){var h=hit(e);if(h&&box.contains(e.target))choose(h.i,h.k)}drag=null});
        addEventListener('pointercancel',function(){drag=null});
        box.addEventListener('scroll',function(){hover=null;tip.hidden=true;soon()});
        box.addEventListener('wheel',function(e){if(e.ctrlKey||e.metaKey){e.preventDefault();var r=box.getBoundingClientRect();
        zoom(Math.exp(Math.max(-60,Math.min(60,e.deltaY))*.01),time(Math.max(LABEL,e.clientX-r.left)))}
        else if(e.shiftKey||Math.abs(e.deltaX)>Math.abs(e.deltaY)){e.preventDefault();pan((e.deltaX||e.deltaY)/1000)}},{passive:false});
        box.addEventListener('keydown',function(e){if(e.ctrlKey||e.metaKey||e.altKey)return;var k=e.key,used=true;
        if(k==='+'||k==='='||k==='w')zoom(.5);else if(k==='-'||k==='s')zoom(2);else if(k==='0'||k==='Home')view(0,data.length);
        else if(k==='a')pan(-.25);else if(k==='d')pan(.25);
        else if(k==='ArrowLeft'||k==='ArrowRight'){var step=k==='ArrowLeft'?-1:1;
        if(!chosen||e.shiftKey)pan(step*.1);else choose(chosen.i,Math.min(Math.max(chosen.k+step,0),states[chosen.i].length-1))}
        else if(k==='ArrowUp'||k==='ArrowDown'){var i=chosen?Math.min(Math.max(chosen.i+(k==='ArrowUp'?-1:1),0),lanes-1):0;
        if(!states[i].length)i=chosen?chosen.i:0;if(states[i].length){var t=chosen?(begins[chosen.i][chosen.k]+begins[chosen.i][chosen.k+1])/2:from;
        choose(i,Math.min(find(begins[i],t),states[i].length-1))}}
        else if(k==='n'||k==='p')block(k==='n'?1:-1);
        else if(k==='Enter'&&chosen){var b=begins[chosen.i],l=b[chosen.k+1]-b[chosen.k];view(b[chosen.k]-l*.25,b[chosen.k+1]+l*.25)}
        else if(k==='Escape'){chosen=null;said.textContent='';soon()}else used=false;
        if(used)e.preventDefault()});
        var longest=[],place=-1;
        (function(){var i=Math.max(0,data.main);if(!lanes)return;for(var k=0;k<states[i].length;k++)
        if(states[i][k]>=3&&states[i][k]<5&&begins[i][k]<data.end&&data.details[details[i][k]-1]!=='stopped by the recorder')longest.push(k);
        longest.sort(function(p,q){return begins[i][q+1]-begins[i][q]-begins[i][p+1]+begins[i][p]});longest=longest.slice(0,20)})();
        function block(d){if(!longest.length)return;place=(place+d+longest.length)%longest.length;var i=Math.max(0,data.main),k=longest[place];
        var b=begins[i],l=b[k+1]-b[k];view(b[k]-l*.5,b[k+1]+l*.5);choose(i,k)}
        [['in',function(){zoom(.5)}],['out',function(){zoom(2)}],['all',function(){view(0,data.length)}],['next',function(){block(1)}]]
        .forEach(function(p){$(p[0]).addEventListener('click',p[1])});
        addEventListener('resize',function(){size();soon()});
        matchMedia('(prefers-color-scheme: dark)').addEventListener('change',function(){palette();soon()});
        function size(){box.style.height=HEAD+(paper?Math.min(lanes,40):Math.max(1,Math.min(lanes,Math.floor(innerHeight*.7/ROW))))*ROW+2+'px'}
        function onPaper(is){paper=is;document.documentElement.toggleAttribute('data-paper',is);palette();size();draw()}
        addEventListener('beforeprint',function(){document.querySelectorAll('details').forEach(function(d){d.open=true});onPaper(true)});
        addEventListener('afterprint',function(){onPaper(false)});
        $('space').style.height=lanes*ROW+HEAD+'px';$('controls').hidden=false;
        palette();size();view(0,data.length);draw();document.documentElement.setAttribute('data-drawn',performance.now().toFixed(0))})();
        """

    /// The hash of the only script that the page may run; the browser reports a mismatch on its console.
    static let scriptHash = "'sha256-DWSsRpQaLLjNYKQH+hFS97PWJkYoUrFUVNa+29rMNhw='"
}
