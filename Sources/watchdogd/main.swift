// SPDX-License-Identifier: Apache-2.0

import WatchdogCommands

Watchdogd.main()
