// SPDX-License-Identifier: Apache-2.0

import CSnapshot
import WatchdogLinux
import WatchdogReport
import WatchdogVerdict

@testable import WatchdogCapture

/// Whatever a core file is that somebody has put in place of the kernel's: it is refused, or gives a snapshot that can be
/// read, with so much effort at the most; and whatever an ELF file gives as its build ID.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzCore(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let file = OwnedDescriptor(sealing: bytes) else { return 0 }
    for id in [BuildID.read(descriptor: file.number), BuildID.read(debugFile: file.number)].compactMap(\.self) {
        precondition((2...128).contains(id.utf8.count) && id.allSatisfy(\.isHexDigit))
    }
    _ = BuildID.hasSymbols(descriptor: file.number)
    var looks = 0
    let isLate = {
        looks += 1
        return false
    }
    guard let process = try? CoreFile(descriptor: file.number, isLate: isLate).process?.id else { return 0 }
    looks = 0
    guard let core = try? CoreContents(reading: file.number, of: process, isLate: isLate) else { return 0 }
    // Notes, and for each header, mapping and thread of a file of this size one more.
    precondition(looks <= 8 * Int(WD_SNAPSHOT_MAX_THREADS) + 70_000 + count)
    guard let contents = try? core.snapshot.contents() else { preconditionFailure("a snapshot that cannot be read") }
    precondition(contents.process.id == process && contents.process.method == .core)
    precondition(contents.threads.contains { $0.id == core.thread })
    precondition(contents.threads.count <= Int(WD_SNAPSHOT_MAX_THREADS))
    precondition(core.snapshot.modules.count <= Int(WD_SNAPSHOT_MAX_MODULES))
    return 0
}
