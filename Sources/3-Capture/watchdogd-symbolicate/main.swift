// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogSymbolication

exit(SymbolicateCommand.run(CommandLine.arguments))
