// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `watchdogd report`.
struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "report", abstract: "Read crash logs.")
}
