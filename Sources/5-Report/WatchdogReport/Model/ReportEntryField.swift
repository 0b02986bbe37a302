// SPDX-License-Identifier: Apache-2.0

/// The fields of a journal entry with a report, and the message IDs of such entries.
package enum ReportEntryField {
    /// The whole `.ips` file.
    package static let data = "WATCHDOGD_REPORT_DATA"
    /// The reason why ``data`` is missing.
    package static let omitted = "WATCHDOGD_REPORT_OMITTED"
    /// The path of the report on the machine that wrote it.
    package static let path = "WATCHDOGD_REPORT"
    /// The number of repeats that the report counts.
    package static let repeats = "WATCHDOGD_REPEATS"
    /// The incident's ID.
    package static let incident = "WATCHDOGD_INCIDENT"
    /// The ID of the report's signature.
    package static let signature = "WATCHDOGD_SIGNATURE"
    /// The party at fault.
    package static let fault = "WATCHDOGD_FAULT"
    /// The app's name.
    package static let app = "WATCHDOGD_APP"
    package static let version = "WATCHDOGD_APP_VERSION"
    /// The beginning of the program's build ID, which tells versions apart where nobody named them.
    package static let build = "WATCHDOGD_APP_BUILD"
    /// The ID of the main process.
    package static let pid = "WATCHDOGD_PID"
    /// `foreground` or `background`.
    package static let visibility = "WATCHDOGD_VISIBILITY"
    /// The watched event.
    package static let event = "WATCHDOGD_EVENT"
    /// The verdict's line.
    package static let verdict = "WATCHDOGD_VERDICT"
    package static let verdictKind = "WATCHDOGD_VERDICT_KIND"
    /// The kind of the message.
    package static let kind = "WATCHDOGD_KIND"

    /// The maximum size of a report in an entry: larger fields make log collectors fail.
    package static let dataLimit = 1 << 20

    /// `MESSAGE_ID` of the kinds `killed`, `reported`, `crashed` and `hangReported`, which announce reports.
    package static let messageIDs = [
        "killed": "625be8b805824436a7005458c4889c7e", "reported": "ca45842fd2364f81b2d803b9de5301a9",
        "crashed": "ba10d16d52ff4890adc09c671337773f", "hangReported": "43acd3b0f8ca4e12b167bf3b02e718d2",
    ]
}
