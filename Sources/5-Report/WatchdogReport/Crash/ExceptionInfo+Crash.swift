// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension ExceptionInfo {
    /// A crash in Apple's terms.
    ///
    /// A processor fault maps to the corresponding Mach exception. A signal that was sent, as by abort(3) or kill(2),
    /// is `EXC_CRASH`. An exit has no signal.
    init(_ crash: CrashDetails) {
        guard let signal = crash.signal else {
            let message = crash.exitCode.map { "exited with code \($0)" }
            self.init(type: "EXC_CRASH", signal: nil, codes: Self.text([0, 0]), rawCodes: [0, 0], message: message)
            return
        }
        // A signal sent by a process does not carry one of the kernel's codes.
        let isFault = crash.code.map { $0 > 0 } ?? false
        let address = crash.address ?? 0
        var type = "EXC_CRASH"
        var codes: [UInt64] = [0, 0]
        var subtype: String?
        if isFault {
            switch signal {
            case SignalText.segmentation, SignalText.bus:
                // Mach's kern_return_t: KERN_INVALID_ADDRESS 1, KERN_PROTECTION_FAILURE 2.
                let isProtected = ["SEGV_ACCERR", "SEGV_PKUERR"].contains(crash.codeName)
                type = "EXC_BAD_ACCESS"
                codes = [isProtected ? 2 : 1, address]
                subtype =
                    (isProtected ? "KERN_PROTECTION_FAILURE" : "KERN_INVALID_ADDRESS")
                    + (crash.address.map { " at \($0.hexadecimal(width: 16))" } ?? " at an unknown address")
            case SignalText.illegal:
                type = "EXC_BAD_INSTRUCTION"
                codes = [1, address]
            case SignalText.trap:
                type = "EXC_BREAKPOINT"
                codes = [1, address]
            case SignalText.arithmetic:
                type = "EXC_ARITHMETIC"
                codes = [1, address]
            default: break
            }
        }
        self.init(
            type: type, signal: crash.signalName, codes: Self.text(codes), rawCodes: codes, subtype: subtype)
    }

    private static func text(_ codes: [UInt64]) -> String {
        codes.map { $0.hexadecimal(width: 16) }.joined(separator: ", ")
    }
}

extension TerminationInfo {
    /// Creates the termination: a signal and its sender, or an exit of the process itself.
    init(_ crash: CrashDetails, process: Int, name: String) {
        if let signal = crash.signal {
            self.init(code: UInt64(max(0, signal)), flags: 0, namespace: "SIGNAL")
            indicator = SignalText.indicator(signal)
            if let sender = crash.senderPID {
                byProc = sender == process ? name : "???"
                byPid = sender == 0 ? nil : sender
            } else if crash.code.map({ $0 > 0 }) == true {
                byProc = "exc handler"
                byPid = process
            }
        } else {
            self.init(code: UInt64(clamping: crash.exitCode ?? 0), flags: 0, namespace: "EXIT")
            indicator = "exit code \(crash.exitCode ?? 0)"
            byProc = name
            byPid = process
        }
    }
}
