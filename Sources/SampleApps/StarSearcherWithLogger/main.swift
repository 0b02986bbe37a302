// SPDX-License-Identifier: Apache-2.0

// The star finder, linked with a logger that it hardly ever uses.

import CSuperfastLog
import SampleSupport
import StarSearcherStory

StarSearcher.main(
    isLoggerLinked: true,
    staticInit: (
        ProcessClock.sinceStart(bootTime: superfast_log_began()),
        ProcessClock.sinceStart(bootTime: superfast_log_ended())
    )
) { message in
    superfast_log(message)
}
