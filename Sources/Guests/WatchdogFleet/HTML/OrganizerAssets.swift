// SPDX-License-Identifier: Apache-2.0

/// The styles of the organizer's page, in addition to those of every page.
///
/// A color has one meaning: green is the latest version, gray all others, red a mark.
enum OrganizerAssets {
    static let style: StaticString = """

        .latest{fill:var(--run);background:var(--run)}.earlier{fill:var(--sleep);background:var(--sleep)}
        .chart{display:block}.chart text{fill:var(--ink);font-size:12px}.chart .value{fill:var(--quiet)}
        .chart .track{fill:var(--soft)}.chart .median{stroke:var(--ink);stroke-width:2}
        section.app{border-top:1px solid var(--line);margin-top:2rem;padding-top:.2rem}
        section.app>h2{font-size:1.35rem;margin-top:1rem}h3{font-size:1rem;margin:1.3rem 0 .3rem;overflow-wrap:anywhere}
        .pairs{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr));gap:0 2rem}
        .signatures{list-style:none;margin:.4rem 0;padding:0;font-size:.9rem}
        .signatures li{padding:.55rem 0;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
        .signatures p{margin:.1rem 0}.signatures code{font-size:.82rem}
        .signatures .count{font-variant-numeric:tabular-nums;font-weight:700;margin-right:.5em}
        .alarm{color:var(--bad);border-color:currentColor;font-weight:600;margin:0 .4rem 0 0}
        td.figure,th.figure{text-align:right;white-space:nowrap;min-width:0;padding-left:.8rem}
        td.name{min-width:7rem}.figure+.name{padding-left:1.6rem}
        @media print{section.app{break-before:auto}.signatures li{break-inside:avoid}h3{break-after:avoid}
        .chart rect{-webkit-print-color-adjust:exact;print-color-adjust:exact}}

        """
}
