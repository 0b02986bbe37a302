// SPDX-License-Identifier: Apache-2.0

import WatchdogRendering
import WatchdogReport

/// Whatever lies in a reports folder is refused, or can be shown in every form and written again as what it is; what can be
/// salvaged of a damaged report can be shown too.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzReport(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let report: Report
    if let (salvaged, faults) = try? ReportCoding.salvage(bytes) {
        checkText(TextRenderer.render(salvaged))
        precondition(faults.allSatisfy { !$0.isEmpty && $0.utf8.count <= 4_096 && !$0.contains("\n") })
    }
    do throws(ReportCodingError) {
        report = try ReportCoding.decode(bytes)
    } catch {
        precondition(!error.description.isEmpty && error.description.utf8.count <= 4_096)
        return 0
    }
    checkText(TextRenderer.render(report))
    let page = HTMLRenderer.render(report)
    precondition(!page.contains("<script src") && !page.contains("=\"javascript:"))
    _ = Explanation(of: report).text
    _ = Signature(of: report)
    guard let encoded = try? ReportCoding.encode(report) else { return 0 }
    guard let again = try? ReportCoding.decode(encoded) else { preconditionFailure("what was written is not readable") }
    precondition(again == report)
    return 0
}

private func checkText(_ text: String) {
    precondition(
        text.unicodeScalars.allSatisfy { $0 == "\n" || $0 == "\t" || $0.properties.generalCategory != .control })
}
