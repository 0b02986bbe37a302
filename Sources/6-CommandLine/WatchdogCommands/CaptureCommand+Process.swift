// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogLaunch
import WatchdogRendering
import WatchdogReport
import WatchdogReportStore

extension CaptureCommand {
    /// Captures the stacks of any process, supervised or not.
    func capture(_ process: Int32) throws {
        let report: Report
        do {
            report = try LongCall.show("capturing process \(process) and naming its functions") {
                try ProcessCapture(of: process, stopsRunning: stop).report()
            }
        } catch let error as RunError {
            StandardError.say(error.description)
            throw ExitCode(error.exitCode)
        }
        if let reports {
            let store = ReportStore(directory: reports)
            print(
                try Failure.reporting {
                    try store.prepare()
                    return try store.write(report)
                })
        } else if output.json {
            let bytes = try Failure.reporting { try ReportCoding.encode(report) }
            StandardOutput.emit(String(decoding: bytes, as: UTF8.self))
        } else {
            print(TextRenderer.render(report), terminator: "")
        }
    }
}
