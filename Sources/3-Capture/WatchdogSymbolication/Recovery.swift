// SPDX-License-Identifier: Apache-2.0

import WatchdogVerdict

/// Finds the caller of a frame whose function has no usable call frame information.
///
/// `swiftc -O` without `-g` emits none for functions that do not throw, and no frame pointers either. A word on the
/// stack is accepted as a return address only if it follows a call instruction.
struct Recovery {
    /// The strength of the evidence that a word on the stack is this function's return address.
    private enum Evidence: Int, Comparable {
        /// The word points to executable memory, but the code is not in a file.
        case executable
        /// A call to another function precedes the address; that function may have ended in a jump to this one.
        case otherCall
        /// A call through a pointer or a linkage table precedes the address.
        case indirectCall
        /// A call to this very function precedes the address.
        case directCall

        static func < (left: Evidence, right: Evidence) -> Bool { left.rawValue < right.rawValue }
    }

    /// The maximum search distance in bytes: compilers seldom create larger frames.
    private static let scanBytes: UInt64 = 4096
    /// The maximum number of candidates to examine; each may require decoding a large function.
    private static let candidateLimit = 16

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

    /// The caller and the kind of evidence for it; tries the strongest kind first.
    func caller() -> (position: Unwinder.Position, trust: Frame.Trust)? {
        if let caller = byInstructions() ?? byLeaf() { return (caller, .prologue) }
        if let caller = byFramePointer(atLeast: .directCall) { return (caller, .framePointer) }
        if let found = byStrongScan() { return found }
        if let caller = byFramePointer(atLeast: .indirectCall) ?? byFramePointer(atLeast: .executable) {
            return (caller, .framePointer)
        }
        return byWeakScan().map { ($0, .scan) }
    }

    // MARK: - The function's own instructions

    /// Derives the position of the return address from the function's stack operations up to the program counter.
    func byInstructions() -> Unwinder.Position? {
        functionStart.flatMap { caller(ofFunctionAt: $0) }
    }

    private func caller(ofFunctionAt start: UInt64) -> Unwinder.Position? {
        guard
            let layout = unwinder.stackLayouts.layout(ofFunctionAt: start, at: programCounter, position.isReturnAddress)
        else { return nil }
        let slot: UInt64
        if let depth = layout.depth {
            // A function that makes calls has a frame, if only to align the stack.
            guard depth > 0 || !position.isReturnAddress else { return nil }
            slot = stackPointer &+ UInt64(bitPattern: depth)
        } else if let depth = layout.framePointerDepth, let framePointer {
            slot = framePointer &+ UInt64(bitPattern: depth)
        } else {
            return nil
        }
        var registers = position.registers
        for (register, depth) in layout.saved {
            registers[register] = unwinder.memory.word(at: slot &- UInt64(bitPattern: depth))
        }
        return caller(returnAddressAt: slot, registers: registers, atLeast: .executable)
    }

    /// If a call went to an address without a function, the stack is unchanged since the call.
    private func byLeaf() -> Unwinder.Position? {
        guard !position.isReturnAddress, functionStart == nil else { return nil }
        return caller(returnAddressAt: stackPointer, registers: position.registers, atLeast: .otherCall)
    }

    // MARK: - The frame pointer

    private func byFramePointer(atLeast evidence: Evidence) -> Unwinder.Position? {
        guard let framePointer, framePointer >= stackPointer, framePointer % 8 == 0,
            unwinder.memory.isSameRange(framePointer, as: stackPointer),
            let saved = unwinder.memory.word(at: framePointer)
        else { return nil }
        if evidence == .executable {
            // The chain is the only evidence here, so accept it only for generated code.
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

    /// The slots to search; empty if the stack pointer is implausibly close to the end of the address space.
    private func slots() -> StrideTo<UInt64> {
        let start = (stackPointer &+ 7) & ~7
        return stride(from: start, to: start &+ Recovery.scanBytes, by: 8)
    }

    /// The first return address that follows a call to this very function.
    private func byStrongScan() -> (position: Unwinder.Position, trust: Frame.Trust)? {
        var candidates = 0
        for slot in slots() {
            guard let word = unwinder.memory.word(at: slot) else { break }
            guard let call = call(before: word) else { continue }
            if call.evidence >= .directCall { return scanned(slot).map { ($0, .scan) } }
            // Without a symbol, the call's target may be the start of this function; its prologue confirms that.
            guard functionStart == nil, case .direct(let target) = call.instruction, target <= programCounter,
                candidates < Recovery.candidateLimit
            else { continue }
            candidates += 1
            guard let caller = caller(ofFunctionAt: target), caller.stackPointer == slot &+ 8
            else { continue }
            return (caller, .prologue)
        }
        return nil
    }

    /// The first return address whose own caller is plausible too, or else the first one after an indirect call.
    private func byWeakScan() -> Unwinder.Position? {
        var fallback: Unwinder.Position?
        var best: (position: Unwinder.Position, evidence: Evidence)?
        var candidates = 0
        for slot in slots() where (slot &+ 8) % X86_64.stackAlignment == 0 && candidates < Recovery.candidateLimit {
            guard let word = unwinder.memory.word(at: slot) else { break }
            guard let call = call(before: word), let candidate = scanned(slot) else { continue }
            candidates += 1
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
        if let address = caller?.programCounter { return call(before: address) != nil }
        return Recovery(unwinder: unwinder, position: candidate)?.byInstructions() != nil
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
        let isTrampoline = X86_64.isTrampoline(unwinder.images.code(at: target, upTo: 16))
        return (call, isTrampoline ? .indirectCall : .otherCall)
    }
}
