// SPDX-License-Identifier: Apache-2.0

/// The parts of every page: its style sheet, and the script that folds sections.
package enum HTMLAssets {
    /// The style sheet.
    ///
    /// A color has one meaning: `--wait` is waiting for a CPU, whether it lasts or is credited; `--still` is a clock or a
    /// process that stands still; `--run` is running, or able to.
    package static let style: StaticString = """

        :root{color-scheme:light dark;--ink:#1c1e21;--paper:#fff;--soft:#f3f4f6;--line:#d8dbe0;--quiet:#5a6068;
        --app:#0b57d0;--machine:#9a5b00;--other:#6b4fa0;--none:#5a6068;--bad:#c4221b;--tint:#eaf1fd;
        --run:#1d8348;--wait:#d9730d;--sleep:#6b727c;--allowed:#b7bec9;--more:#8a7300;--still:#37505e;--disk:#0e7490}
        @media(prefers-color-scheme:dark){:root{--ink:#e6e8eb;--paper:#14161a;--soft:#1e2126;--line:#373c44;
        --quiet:#a3abb6;--app:#8ab4f8;--machine:#f0b35e;--other:#c3a6f5;--none:#a3abb6;--bad:#ff8f86;--tint:#1b2a42;
        --run:#5fbf8c;--wait:#f5893d;--sleep:#8b929c;--allowed:#4a525e;--more:#d3c04f;--still:#6f9bb0;--disk:#4cc3de}}
        *{box-sizing:border-box}
        body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;
        -webkit-text-size-adjust:100%}
        main{max-width:66rem;margin:0 auto;padding:1rem}
        footer{max-width:66rem;margin:0 auto;padding:1rem;color:var(--quiet);font-size:.85rem;
        border-top:1px solid var(--line);overflow-wrap:anywhere}
        .skip{position:absolute;left:-100rem}.skip:focus{left:1rem;top:.5rem;background:var(--paper);padding:.5rem}
        header{border-left:.4rem solid var(--accent);background:var(--soft);padding:.9rem 1.1rem;border-radius:.3rem;
        --accent:var(--none)}
        .party-app{--accent:var(--app)}.party-machine{--accent:var(--machine)}
        .party-somebody-else{--accent:var(--other)}
        h1{font-size:clamp(1.35rem,1rem + 1.9vw,2rem);line-height:1.25;margin:.2rem 0 .6rem;overflow-wrap:anywhere}
        h2{font-size:1.1rem;margin:1.7rem 0 .4rem;overflow-wrap:anywhere}
        header p{margin:.35rem 0}.who{overflow-wrap:anywhere}
        .place{overflow-wrap:anywhere}.own{font-weight:700}
        .fault strong{color:var(--accent)}
        .kernel{color:var(--quiet);font-size:.95rem}.todo{max-width:52rem}
        nav{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;margin:.8rem 0;font-size:.875rem}
        button{font:inherit;font-size:.8rem;color:var(--quiet);background:var(--paper);border:1px solid var(--line);
        border-radius:.3rem;padding:.1rem .6rem;cursor:pointer}
        [hidden]{display:none}
        .quiet,.legend{color:var(--quiet);font-size:.875rem}.quiet{margin:.3rem 0;overflow-wrap:anywhere}
        .legend{line-height:1.7}
        .shares{display:block;border-radius:3px}
        .pair{white-space:nowrap;margin-right:.8em}
        .key{display:inline-block;width:.7em;height:.7em;margin-right:.35em;border-radius:2px}
        .facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(11.5rem,1fr));gap:.55rem 1.2rem;margin:1rem 0}
        dt{color:var(--quiet);font-size:.8rem}dd{margin:0;overflow-wrap:anywhere}
        figure{margin:.6rem 0}
        .timeline{display:block}
        .timeline text{fill:var(--ink);font-size:12px}
        .word{paint-order:stroke;stroke:var(--paper);stroke-width:4px}
        .hair{stroke:var(--line)}.axis{stroke:var(--quiet)}
        .timeline .number{fill:var(--paper);stroke:var(--quiet)}
        .allowed{fill:var(--allowed);background:var(--allowed)}.credit{fill:var(--wait);background:var(--wait)}
        .extended{fill:var(--more);background:var(--more)}.paused{fill:var(--still);background:var(--still)}
        .over{fill:var(--bad);background:var(--bad)}
        .running{fill:var(--run);background:var(--run)}.waiting{fill:var(--wait);background:var(--wait)}
        .asleep{fill:var(--sleep);background:var(--sleep)}
        .runnable{fill:var(--run);background:var(--run)}
        .uninterruptible{fill:var(--disk);background:var(--disk)}.stopped{fill:var(--still);background:var(--still)}
        .look{stroke:var(--paper)}
        .timeline .letter{fill:var(--paper);font-weight:700}
        .answered{stroke:var(--ink);stroke-width:2}.unanswered{stroke:var(--bad);stroke-width:2;stroke-dasharray:5 4}
        .answer{fill:var(--ink);stroke:var(--ink)}.ping{fill:var(--paper);stroke:var(--bad);stroke-width:2}
        .waits{display:block;width:100%;max-width:30rem;height:auto}
        .waits text{fill:var(--ink);font:11px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace}
        .waits .title{font-weight:700}.waits .label{fill:var(--quiet)}
        .waits rect{fill:var(--soft);stroke:var(--quiet)}.waits .resource{fill:var(--tint)}
        .waits path{fill:none;stroke:var(--quiet);stroke-width:1.6}.waits polygon{fill:var(--quiet)}
        .waits .likely{stroke-dasharray:4 3}
        .waits rect.deadlock,.waits path.deadlock{stroke:var(--bad);stroke-width:2.2}.waits polygon.deadlock,.waits text.deadlock{fill:var(--bad)}
        .plain{margin:.3rem 0;padding-left:1.2rem;font-size:.9rem;overflow-wrap:anywhere}
        .moments{display:grid;grid-template-columns:repeat(auto-fill,minmax(17rem,1fr));gap:.1rem 1.5rem;
        margin:.4rem 0;padding-left:1.6rem;font-size:.9rem}
        .at{font-variant-numeric:tabular-nums;display:inline-block;min-width:5.2em;font-weight:600}
        .sure{padding-left:1.2rem;color:var(--quiet);font-size:.9rem;overflow-wrap:anywhere}
        code,.address,.number,.registers dd,td{font-family:ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace}
        .stack{list-style:none;margin:.4rem 0;padding:0;border:1px solid var(--line);border-radius:.3rem;
        font-size:.875rem}
        .stack li{display:grid;grid-template-columns:2.2rem minmax(0,1fr) minmax(0,.45fr) minmax(0,.3fr) 8.6rem;gap:0 .8rem;
        padding:.2rem .6rem;border-left:.25rem solid transparent}
        .stack li+li{border-top:1px solid var(--line)}
        .stack code{font-size:.85rem;overflow-wrap:anywhere}
        .stack .number{color:var(--quiet);text-align:right}
        .stack .where{display:contents}
        .stack .where span{color:var(--quiet);overflow-wrap:anywhere;min-width:0}.stack .address{text-align:right}
        .nosource .source{display:none}
        .nosource li{grid-template-columns:2.2rem minmax(0,1fr) minmax(0,.4fr) 8.6rem}
        .stack .runtime code,.stack .unknown code,.stack .library code{color:var(--quiet)}
        .stack .application{border-left-color:var(--app);background:var(--tint)}
        .stack .application code{font-weight:700}.stack .application .where .source{color:var(--ink)}
        .trust-scan code{font-style:italic}
        .mark{font-size:.75rem;color:var(--quiet);border:1px solid var(--line);border-radius:.6rem;padding:0 .45rem;
        margin-left:.4rem;white-space:nowrap}
        .doubt{color:var(--bad);border-color:currentColor}
        a{color:var(--ink)}
        details{border:1px solid var(--line);border-radius:.3rem;margin:.4rem 0;padding:0 .7rem}
        details[open]{padding-bottom:.5rem}
        summary{cursor:pointer;padding:.45rem 0;overflow-wrap:anywhere}
        summary .thread{font-weight:600}
        a:focus-visible,button:focus-visible,summary:focus-visible,.scroll:focus-visible{outline:3px solid var(--ink);outline-offset:2px}
        .scroll{overflow-x:auto}
        table{border-collapse:collapse;font-size:.8rem;width:100%}
        th{text-align:left;color:var(--quiet);font-weight:600}
        th,td{padding:.2rem .8rem .2rem 0;vertical-align:top;border-bottom:1px solid var(--line)}
        td{overflow-wrap:anywhere;min-width:6rem}
        details ul{margin:.2rem 0;padding-left:1.2rem;font-size:.9rem;overflow-wrap:anywhere}
        .registers{display:grid;grid-template-columns:repeat(auto-fill,minmax(13rem,1fr));gap:.1rem 1rem;
        font-size:.85rem;margin:.3rem 0}
        .registers div{display:flex;gap:.6rem}.registers dt{width:3.2rem}
        @media(max-width:44rem){main{padding:.6rem}header{padding:.7rem .8rem}
        .stack li{grid-template-columns:1.6rem minmax(0,1fr);padding:.25rem .4rem}
        .stack .where{display:flex;flex-wrap:wrap;gap:0 .8rem;grid-column:2}.stack .address,.stack .source:empty{display:none}
        .mark{white-space:normal}.facts{grid-template-columns:1fr 1fr;gap:.4rem .8rem;font-size:.925rem}}
        @media print{:root{--ink:#000;--paper:#fff;--quiet:#333;--soft:#fff;--tint:#f2f2f2;--line:#999;--app:#0b3d91}
        body{font-size:10pt}main,footer{max-width:none;padding:0}.skip,nav,button{display:none}
        .stack,.stack code{font-size:8pt}.stack li{gap:0 .4rem;grid-template-columns:1.4rem minmax(0,1fr) minmax(0,.6fr) minmax(0,.4fr) 7.4rem}
        .nosource li{grid-template-columns:1.4rem minmax(0,1fr) minmax(0,.5fr) 7.4rem}
        .stack li,tr,header,figure,.moments li{break-inside:avoid}.waits{max-width:11cm}h2{break-after:avoid}
        header,.key,.stack .application{-webkit-print-color-adjust:exact;print-color-adjust:exact}
        details::details-content{content-visibility:visible;block-size:auto}}

        """

    /// Unfolds everything for printing, folds or unfolds everything on the keys e and c, and copies stacks.
    static let script: StaticString = """
        (function(){'use strict';
        var all=function(open){document.querySelectorAll('details').forEach(function(d){d.open=open})};
        var lines=function(list){return Array.prototype.map.call(list.children,function(li){
        return Array.prototype.map.call(li.querySelectorAll('.number,code,.where span'),function(part){
        return part.textContent.trim()}).filter(Boolean).join('  ')}).join('\\n')+'\\n'};
        var copy=function(text,button){var done=function(){button.textContent='Copied'};
        var old=function(){var area=document.createElement('textarea');area.value=text;document.body.appendChild(area);
        area.select();if(document.execCommand('copy'))done();area.remove()};
        if(navigator.clipboard)navigator.clipboard.writeText(text).then(done,old);else old()};
        document.querySelectorAll('button[data-copy]').forEach(function(b){b.hidden=false;
        b.addEventListener('click',function(){var e=document.getElementById(b.dataset.copy);
        copy(e.tagName==='OL'||e.tagName==='UL'?lines(e):e.textContent,b)})});
        addEventListener('beforeprint',function(){all(true)});
        addEventListener('keydown',function(k){if(k.ctrlKey||k.metaKey||k.altKey)return;
        if(k.key==='e')all(true);if(k.key==='c')all(false)})})();
        """

    /// The hash of the only script that the page may run; the browser reports a mismatch on its console.
    static let scriptHash = "'sha256-UB2+WaKcLAcc9RN+RiAJswnTzRQdhLwBg1xztkRWuvM='"
}
