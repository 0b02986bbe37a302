// SPDX-License-Identifier: Apache-2.0

import WatchdogReport

/// Finds the caller of a frame whose function has no usable call frame information.
///
/// `swiftc -O` without `-g` emits none for functions that do not throw, and no frame pointers either. Whatever is found
/// on the stack must follow a call instruction to be taken for a return address.
struct Recovery {
    /// How well a word on the stack is confirmed as this function's return address.
    private enum Evidence: Int, Comparable {
        /// It is executable, but the code is not in a file.
        case executable
        /// A call to another function precedes it, which may have ended in a jump to this one.
        case otherCall
        /// A call through a pointer or a linkage table precedes it.
        case indirectCall
        /// A call to this very function precedes it.
        case directCall

        static func < (left: Evidence, right: Evidence) -> Bool { left.rawValue < right.rawValue }
    }

    /// How far a search goes: compilers seldom make frames larger than this.
    private static let scanBytes: UInt64 = 4096
    /// How far before the program counter a function may begin.
    private static let functionReach: UInt64 = 1 << 20

    private let unwinder: Unwinder
    private let position: Unwinder.Position
    private let programCounter: UInt64
    private let stackPointer: UInt64
    private let framePointer: UInt64?
    private let functionStart: UInt64?

    init?(unwinder: Unwinder, position: Unwinder.Position) {
        guard let programCounter = position.programCounter, let stackPointer = position.stackPointer,
            let lookup = position.lookupAddress
        else { return nil }
        self.unwinder = unwinder
        self.position = position
        self.programCounter = programCounter
        self.stackPointer = stackPointer
        framePointer = position.registers[X86_64.Register.rbp]
        functionStart = unwinder.symbols.function(containing: lookup)?.address
    }

    /// The caller and what it rests on, by the strongest evidence first.
    func caller() -> (position: Unwinder.Position, trust: Frame.Trust)? {
        if let caller = byEpilogue() ?? byPrologue() ?? byLeaf() { return (caller, .prologue) }
        if let caller = byFramePointer(atLeast: .directCall) { return (caller, .framePointer) }
        if let found = byStrongScan() { return found }
        if let caller = byFramePointer(atLeast: .indirectCall) ?? byFramePointer(atLeast: .executable) {
            return (caller, .framePointer)
        }
        return byWeakScan().map { ($0, .scan) }
    }

    // MARK: - The function's own instructions

    /// In an epilogue, what is left to do tells where the return address is.
    private func byEpilogue() -> Unwinder.Position? {
        guard !position.isReturnAddress,
            let code = code(at: programCounter, atMost: X86_64.longestEpilogue),
            let epilogue = X86_64.epilogue(of: code)
        else { return nil }
        var registers = position.registers
        var slot = stackPointer &+ epilogue.dropped
        if epilogue.leaves {
            guard let framePointer else { return nil }
            registers[X86_64.Register.rbp] = unwinder.memory.word(at: framePointer)
            slot = framePointer &+ 8
        }
        for register in epilogue.popped {
            registers[register] = unwinder.memory.word(at: slot)
            slot &+= 8
        }
        return caller(returnAddressAt: slot, registers: registers, atLeast: .otherCall)
    }

    private func byPrologue() -> Unwinder.Position? {
        functionStart.flatMap { caller(ofFunctionAt: $0) }
    }

    private func caller(ofFunctionAt start: UInt64) -> Unwinder.Position? {
        let length = programCounter &- start
        guard length > 0, length < Recovery.functionReach,
            let code = code(at: start, atMost: Int(min(length, UInt64(X86_64.longestPrologue))))
        else { return nil }
        let prologue = X86_64.prologue(of: code)
        // A function that calls has a frame, if only to align the stack.
        guard !prologue.pushed.isEmpty || prologue.reserved > 0 else { return nil }
        let depth = 8 * UInt64(prologue.pushed.count)
        let slot: UInt64
        if prologue.setsFramePointer, let framePointer {
            slot = framePointer &+ 8
        } else {
            slot = stackPointer &+ prologue.reserved &+ depth
        }
        var registers = position.registers
        for (index, register) in prologue.pushed.enumerated() {
            registers[register] = unwinder.memory.word(at: slot &- 8 &* UInt64(index + 1))
        }
        return caller(returnAddressAt: slot, registers: registers, atLeast: .otherCall)
    }

    /// The innermost function may not have touched the stack at all; so it is with a call to a wild address.
    private func byLeaf() -> Unwinder.Position? {
        guard !position.isReturnAddress else { return nil }
        return caller(returnAddressAt: stackPointer, registers: position.registers, atLeast: .otherCall)
    }

    // MARK: - The frame pointer

    private func byFramePointer(atLeast evidence: Evidence) -> Unwinder.Position? {
        guard let framePointer, framePointer >= stackPointer, framePointer % 8 == 0,
            unwinder.memory.isSameRange(framePointer, as: stackPointer),
            let saved = unwinder.memory.word(at: framePointer)
        else { return nil }
        if evidence == .executable {
            // Nothing but the chain speaks for it: code made at run time.
            guard saved == 0 || saved > framePointer, unwinder.images.index(containing: programCounter) == nil else {
                return nil
            }
        }
        var registers = position.registers
        for register in X86_64.calleeSaved { registers[register] = nil }
        registers[X86_64.Register.rbp] = saved
        guard let caller = caller(returnAddressAt: framePointer &+ 8, registers: registers, atLeast: evidence) else {
            return nil
        }
        return caller
    }

    // MARK: - Searching the stack

    /// Empty for a stack pointer so close to the end of the address space that it cannot be one.
    private func slots() -> StrideTo<UInt64> {
        let start = (stackPointer &+ 7) & ~7
        return stride(from: start, to: start &+ Recovery.scanBytes, by: 8)
    }

    /// The first return address that follows a call to this very function.
    private func byStrongScan() -> (position: Unwinder.Position, trust: Frame.Trust)? {
        for slot in slots() {
            guard let word = unwinder.memory.word(at: slot) else { break }
            guard let call = call(before: word) else { continue }
            if call.evidence >= .directCall { return scanned(slot).map { ($0, .scan) } }
            // Without a symbol the call itself tells where this function may begin, and its prologue whether it does.
            guard functionStart == nil, case .direct(let target) = call.instruction, target <= programCounter,
                let caller = caller(ofFunctionAt: target), caller.stackPointer == slot &+ 8
            else { continue }
            return (caller, .prologue)
        }
        return nil
    }

    /// The first return address whose own caller makes sense too; else the first that a call through a pointer could
    /// have left.
    private func byWeakScan() -> Unwinder.Position? {
        var fallback: Unwinder.Position?
        var best: (position: Unwinder.Position, evidence: Evidence)?
        for slot in slots() where (slot &+ 8) % X86_64.stackAlignment == 0 {
            guard let word = unwinder.memory.word(at: slot) else { break }
            guard let call = call(before: word), let candidate = scanned(slot) else { continue }
            if isConfirmedByItsCaller(candidate) {
                if call.evidence >= .indirectCall { return candidate }
                if best == nil { best = (candidate, call.evidence) }
            }
            if fallback == nil, call.evidence >= .indirectCall { fallback = candidate }
        }
        return best?.position ?? fallback
    }

    private func isConfirmedByItsCaller(_ candidate: Unwinder.Position) -> Bool {
        let (caller, isOutermost) = unwinder.callerByCallFrames(of: candidate)
        if isOutermost { return true }
        guard let address = caller?.programCounter else { return false }
        return call(before: address) != nil
    }

    private func scanned(_ slot: UInt64) -> Unwinder.Position? {
        var registers = position.registers
        for register in X86_64.calleeSaved where register != X86_64.Register.rbp { registers[register] = nil }
        // Many functions save the frame pointer next to the return address.
        if slot >= stackPointer &+ 8, let saved = unwinder.memory.word(at: slot &- 8), saved > slot,
            unwinder.memory.isSameRange(saved, as: slot)
        {
            registers[X86_64.Register.rbp] = saved
        }
        return caller(returnAddressAt: slot, registers: registers, atLeast: .otherCall)
    }

    // MARK: - Evidence

    private func caller(
        returnAddressAt slot: UInt64,
        registers: Registers,
        atLeast wanted: Evidence
    ) -> Unwinder.Position? {
        guard slot >= stackPointer, let address = unwinder.memory.word(at: slot) else { return nil }
        let evidence = call(before: address)?.evidence ?? (isCodeOutsideFiles(address) ? .executable : nil)
        guard let evidence, evidence >= wanted else { return nil }
        var registers = registers
        registers[X86_64.Register.rip] = address
        registers[X86_64.Register.rsp] = slot &+ 8
        return Unwinder.Position(registers: registers, isReturnAddress: true)
    }

    private func isCodeOutsideFiles(_ address: UInt64) -> Bool {
        unwinder.space.isExecutable(address &- 1) && unwinder.images.code(at: address &- 1, count: 1) == nil
    }

    private func call(before address: UInt64) -> (instruction: X86_64.Call, evidence: Evidence)? {
        guard unwinder.space.isExecutable(address &- 1),
            let bytes = unwinder.images.code(
                at: address &- UInt64(X86_64.longestCall),
                count: X86_64.longestCall
            ),
            let call = X86_64.call(before: address, bytes: bytes)
        else { return nil }
        guard case .direct(let target) = call, let functionStart else { return (call, .indirectCall) }
        if target == functionStart { return (call, .directCall) }
        let isTrampoline = code(at: target, atMost: 16).map(X86_64.isTrampoline) ?? false
        return (call, isTrampoline ? .indirectCall : .otherCall)
    }

    /// Up to `count` bytes of code, fewer at the end of a segment.
    private func code(at address: UInt64, atMost count: Int) -> [UInt8]? {
        var count = count
        while count > 0 {
            if let code = unwinder.images.code(at: address, count: count) { return code }
            count /= 2
        }
        return nil
    }
}
