// SPDX-License-Identifier: Apache-2.0

// Lists of stocks with plots: a screen that computes on its main loop, and its repairs.

import SampleSupport

let arguments = Arguments(
    app: "Stocks",
    help: """
        usage: Stocks --stage STAGE [options]

        Shows groups of stocks. Opening a group (select 1) parses, smooths and draws 24 of them, which takes 15 s of computing; back leaves
        the group again. Measure how long touches wait meanwhile: --touch-every 16ms.

        --stage STAGE        1 blocking             all of it on the main loop
                             2 data-queue           parsing and smoothing in operations, drawing on the main loop
                             3 background-drawing   drawing, too; a placeholder until then
                             4 cancellation         and who leaves, or scrolls on, stops what nobody wants any more
        """,
    values: ["--stage"]
)
let choice = arguments.choice("--stage", Stocks.Stage.names)
let app = SampleApp(arguments)
Market.prepare(app)
guard let stage = choice.flatMap(Stocks.Stage.init(rawValue:)) else { arguments.fail("--stage is missing") }
app.run(Stocks(app, stage))
