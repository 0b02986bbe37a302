// SPDX-License-Identifier: Apache-2.0

// A photo-sharing app that dies at launch, and its repair in stages.

import SampleSupport

let arguments = Arguments(
    app: "QuickPick",
    help: """
        usage: QuickPick --stage STAGE [options]

        Launches as a photo-sharing app does: interface, downloads, databases, templates, a library that phones home. Start
        PhotoServer first, with a bad network and a slow list:

          PhotoServer --profile 3g --delay /friends.json=8s --delay /license=1s

        --stage STAGE        1 blocking          all of it in the launch callback
                             2 split-interface   the same with only the interface of the first screen
                             3 naive-async       all of it on one background queue
                             4 operations        each download an operation
                             5 dependencies      each piece waits for what it needs only
                             6 placeholders      and the first screen is usable without any of it; photos are fetched
                                                 for rows that are scrolled to or opened, and scenes of the interface
                                                 are unpacked from one file when they are first shown
        --restore            begin with the photo that was open when the app was last used

        Opens a photo for the event 'url quickpick://photo/N', too, and may be launched for it.
        """,
    values: ["--stage"], flags: ["--restore"]
)
let choice = arguments.choice("--stage", QuickPick.Stage.names)
let app = SampleApp(arguments)
Installation.prepare(app)
guard let stage = choice.flatMap(QuickPick.Stage.init(rawValue:)) else { arguments.fail("--stage is missing") }
app.run(QuickPick(app, stage))
