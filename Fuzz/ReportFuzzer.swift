// SPDX-License-Identifier: Apache-2.0

import WatchdogRendering
import WatchdogReport

/// Whatever lies in a reports folder is refused, or can be shown in every form and written again as what it is.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzReport(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let report: Report
    do throws(ReportCodingError) {
        report = try ReportCoding.decode(bytes)
    } catch {
        precondition(!error.description.isEmpty && error.description.utf8.count <= 4_096)
        return 0
    }
    let text = TextRenderer.render(report)
    precondition(
        text.unicodeScalars.allSatisfy { $0 == "\n" || $0 == "\t" || $0.properties.generalCategory != .control })
    let page = HTMLRenderer.render(report)
    precondition(!page.contains("<script src") && !page.contains("javascript:"))
    _ = Explanation(of: report).text
    _ = Signature(of: report)
    guard let encoded = try? ReportCoding.encode(report) else { return 0 }
    guard let again = try? ReportCoding.decode(encoded) else { preconditionFailure("what was written is not readable") }
    precondition(again == report)
    return 0
}
