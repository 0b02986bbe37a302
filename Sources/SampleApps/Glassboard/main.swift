// SPDX-License-Identifier: Apache-2.0

// Message boards: how to shorten the time in which an app is loaded but useless.

import SampleSupport

let arguments = Arguments(
    app: "Glassboard",
    help: """
        usage: Glassboard --cold | --snapshot [options]

        Shows messages of a database that is too slow to hide.

        --cold               the list is empty until messages, comments, boards and people have been read, and all avatars
        --snapshot           the list of the last visit is there from the first frame on; the database follows, and the avatars
                             that are in sight. The first visit has nothing to show, and is cold

        For the event 'scene' it opens a second window, which shares the messages with the first one if --snapshot is given.
        """,
    flags: ["--cold", "--snapshot"]
)
guard arguments.has("--cold") != arguments.has("--snapshot") || arguments.has("--prepare") else {
    arguments.fail("--cold or --snapshot is missing, or there are both")
}
let app = SampleApp(arguments)
Board.prepare(app)
app.run(Glassboard(app, keepsArchive: arguments.has("--snapshot")))
