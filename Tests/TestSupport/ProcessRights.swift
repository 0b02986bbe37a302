// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// Whether this is root of the machine: root of a container may neither mount, nor create namespaces, nor trace others'
/// programs.
///
/// What such a process is refused is a defect, not a reason to skip a test.
public let hasAllRights: Bool = {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("CapEff:") }
    let effective = line?.split(whereSeparator: \.isWhitespace).last.flatMap { UInt64($0, radix: 16) } ?? 0
    // CAP_SYS_PTRACE, CAP_SYS_ADMIN: capabilities(7).
    return geteuid() == 0 && effective >> 19 & 1 == 1 && effective >> 21 & 1 == 1
}()
