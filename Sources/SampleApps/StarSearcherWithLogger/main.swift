// SPDX-License-Identifier: Apache-2.0

// The star finder, linked with a logger that it rarely uses.

import CSuperfastLog
import StarSearcherStory

StarSearcher.main(isLoggerLinked: true) { message in
    superfast_log(message)
}
