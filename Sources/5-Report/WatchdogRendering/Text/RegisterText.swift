// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogReport

/// The registers of the faulting thread.
enum RegisterText {
    /// - Parameter title: the text before the processor's name, such as `Thread 0 crashed with`.
    static func append(_ state: ThreadState, title: String, to text: inout CrashText) {
        switch state.flavor {
        case ThreadState.x86 where !state.registers.isEmpty:
            text.line("\(title) X86 Thread State (64-bit):")
            rows(x86Rows, state.registers, indent: "", &text)
            processor(state.registers, &text)
        case ThreadState.arm64:
            text.line("\(title) ARM Thread State (64-bit):")
            let numbered = state.x.prefix(64).enumerated().map { ("x\($0.offset)", $0.element) }
            rows(armRows, state.registers.merging(numbered) { first, _ in first }, indent: " ", &text)
        default:
            return
        }
        text.blank()
    }

    private static let x86Rows = [
        ["rax", "rbx", "rcx", "rdx"], ["rdi", "rsi", "rbp", "rsp"], ["r8", "r9", "r10", "r11"],
        ["r12", "r13", "r14", "r15"], ["rip", "rflags", "cr2"],
    ]

    private static let armRows =
        stride(from: 0, to: 28, by: 4).map { first in (first..<first + 4).map { "x\($0)" } }
        + [["x28", "fp", "lr"], ["sp", "pc", "cpsr"], ["far", "esr"]]

    /// Registers whose names in the text differ from those in the JSON.
    private static let shortNames = ["rflags": "rfl"]

    /// 32-bit registers.
    private static let narrow: Set<String> = ["cpsr", "esr"]

    private static func rows(
        _ rows: [[String]], _ registers: [String: ThreadState.Register], indent: String, _ text: inout CrashText
    ) {
        for row in rows {
            let cells = row.compactMap { name -> String? in
                guard let register = registers[name] else { return nil }
                let value = register.value.hexadecimal(width: narrow.contains(name) ? 8 : 16)
                let words = register.description.map { " \($0)" } ?? ""
                return "\((shortNames[name] ?? name).alignedRight(5)): \(value)\(words)"
            }
            if !cells.isEmpty { text.line(indent + cells.joined()) }
        }
    }

    /// What Intel processors say about an exception; Linux does not preserve it.
    private static func processor(_ registers: [String: ThreadState.Register], _ text: inout CrashText) {
        guard let cpu = registers["cpu"], let error = registers["err"], let trap = registers["trap"] else { return }
        text.line("  ")
        text.line("Logical CPU:     \(cpu.value)")
        text.line("Error Code:      \(error.value.hexadecimal(width: 8)) \(error.description ?? "")")
        text.line("Trap Number:     \(trap.value)\(trap.description.map { " \($0)" } ?? "")")
    }
}
