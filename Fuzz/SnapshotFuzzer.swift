// SPDX-License-Identifier: Apache-2.0

import CSnapshot
import WatchdogVerdict

@testable import WatchdogCapture

/// Whatever a snapshot holds, of which a hostile process has written most, is read within its bounds or refused; so is
/// whatever the helper program prints, which has parsed hostile files.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzSnapshot(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    if bytes.first == UInt8(ascii: "{") {
        guard let captured = try? CapturedProcess(answer: bytes, threadLimit: 8) else { return 0 }
        precondition(captured.threads.count <= 8)
        for thread in captured.threads {
            precondition(thread.frames.allSatisfy { captured.images.indices.contains($0.imageIndex) })
        }
        return 0
    }
    if let mappings = MapsParser.parse(bytes[...], limit: 64) {
        precondition(mappings.count <= 64 && zip(mappings, mappings.dropFirst()).allSatisfy { $0.end <= $1.start })
    }
    guard let contents = try? SnapshotReader.parse(bytes) else { return 0 }
    let captured = CapturedProcess(contents, descriptors: [], note: "")
    precondition(captured.threads.count == contents.threads.count)
    for thread in captured.threads {
        precondition(thread.frames.allSatisfy { captured.images.indices.contains($0.imageIndex) })
    }
    for thread in contents.threads {
        _ = thread.stack.map { $0.word(at: $0.address) }
        _ = thread[.rsp].flatMap { contents.mapping(at: $0) }
    }
    return 0
}
