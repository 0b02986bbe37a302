// SPDX-License-Identifier: Apache-2.0

import WatchdogCapture
import WatchdogVerdict

/// Follows one thread's stack from its registers to its outermost frame.
///
/// Each step uses the best available evidence: call frame information, then the function's own instructions, then the
/// frame pointer, then a search for return addresses. Each frame records its evidence.
struct Unwinder {
    /// One machine frame.
    struct Frame {
        var programCounter: UInt64
        /// Whether the call is before the program counter.
        ///
        /// False for the innermost frame, for code that a signal interrupted, and for the code that returns from a
        /// handler, which nothing called.
        var isReturnAddress: Bool
        var trust: WatchdogVerdict.Frame.Trust
        /// Swift's AsyncContext, if the function is an asynchronous one.
        var asyncContext: UInt64?
        /// The frame pointer, if it is known.
        var framePointer: UInt64?

        /// An address that is certainly in the function: the return address minus one, because a call to a noreturn
        /// function may be its last instruction.
        var lookupAddress: UInt64 {
            isReturnAddress ? programCounter &- 1 : programCounter
        }
    }

    /// The reason why unwinding stopped.
    enum End: Equatable {
        /// It reached the thread's first function.
        case complete
        /// The caller could not be found.
        case lost
        /// It reached the limit on frames.
        case limit
        /// It reached the time limit.
        case outOfTime
    }

    let space: AddressSpace
    let images: ImageTable
    let symbols: Symbols
    let callFrames: CallFrameInformation
    let memory: CapturedMemory
    let stackLayouts: StackLayouts

    /// The current position: the registers of one frame.
    struct Position {
        var registers: Registers
        var isReturnAddress: Bool

        var programCounter: UInt64? { registers[X86_64.Register.rip] }
        var stackPointer: UInt64? { registers[X86_64.Register.rsp] }
        var lookupAddress: UInt64? { programCounter.map { isReturnAddress ? $0 &- 1 : $0 } }
    }

    private enum Step {
        case caller(Position, WatchdogVerdict.Frame.Trust)
        case outermost
    }

    /// The frames from innermost to outermost, at most `limit`, and the position of the last one.
    ///
    /// - Parameters:
    ///   - registers: Those of the innermost frame.
    ///   - isReturnAddress: Whether that frame has called another one.
    ///   - trust: How that frame was found.
    ///   - limit: The maximum number of frames.
    ///   - isOutOfTime: Called before each step.
    func unwind(
        _ registers: Registers,
        isReturnAddress: Bool = false,
        trust: WatchdogVerdict.Frame.Trust = .registers,
        limit: Int,
        isOutOfTime: () -> Bool = { false }
    ) -> (frames: [Frame], end: End, position: Position) {
        var position = Position(registers: registers, isReturnAddress: isReturnAddress)
        guard let innermost = frame(position, trust: trust) else { return ([], .lost, position) }
        var frames = [innermost]
        while frames.count < limit {
            guard !isOutOfTime() else { return (frames, .outOfTime, position) }
            switch step(from: position) {
            case .caller(let caller, let trust):
                guard let next = frame(caller, trust: trust) else { return (frames, .lost, position) }
                if !caller.isReturnAddress { frames[frames.count - 1].isReturnAddress = false }
                frames.append(next)
                position = caller
            case .outermost: return (frames, .complete, position)
            case nil: return (frames, .lost, position)
            }
        }
        return (frames, .limit, position)
    }

    /// The maximum number of frames to skip on the way to the outermost ones.
    private static let farthest = 16_384
    /// The maximum number of return addresses to try at a stack's outer end.
    private static let candidates = 1_024

    /// The outermost frames of a stack of which ``unwind(_:limit:isOutOfTime:)`` has found the innermost ones; empty if
    /// the thread's first function cannot be reached.
    ///
    /// Continues to the thread's first function if the captured memory reaches it. Otherwise, it restarts at the outer
    /// end: a return address there counts as a frame if call frame information alone leads from it to the thread's
    /// first function.
    ///
    /// - Parameters:
    ///   - count: How many frames to return at most.
    ///   - position: The position at which unwinding stopped.
    ///   - outer: The outer end of the stack, if it is separate from the inner part; nil otherwise.
    ///   - isOutOfTime: Called repeatedly.
    func outermost(
        _ count: Int, from position: Position, in outer: SnapshotMemory?, isOutOfTime: () -> Bool
    ) -> [Frame] {
        guard let outer else { return way(from: position, isOutOfTime) { step(from: $0) }?.suffix(count) ?? [] }
        var tried = 0
        let end = outer.address &+ UInt64(outer.bytes.count)
        for slot in stride(from: (outer.address &+ 7) & ~7, to: max(end, 8) - 7, by: 8) where tried < Self.candidates {
            guard !isOutOfTime(), let word = outer.word(at: slot), space.isExecutable(word &- 1),
                images.code(at: word &- UInt64(X86_64.longestCall), count: X86_64.longestCall)
                    .flatMap({ X86_64.call(before: word, bytes: $0) }) != nil
            else { continue }
            tried += 1
            var registers = Registers(count: X86_64.registerCount)
            registers[X86_64.Register.rip] = word
            registers[X86_64.Register.rsp] = slot &+ 8
            // Many functions save the frame pointer next to the return address.
            let saved = outer.word(at: slot &- 8)
            registers[X86_64.Register.rbp] = saved.flatMap { $0 > slot && $0 < end ? $0 : nil }
            let candidate = Position(registers: registers, isReturnAddress: true)
            guard let first = frame(candidate, trust: .outerEnd),
                let rest = way(from: candidate, isOutOfTime, { stepByCallFrames(from: $0) })
            else { continue }
            return ([first] + rest).suffix(count)
        }
        return []
    }

    /// The frames from a position to the thread's first function, or the outermost ones of many; nil if it cannot be
    /// reached.
    private func way(from start: Position, _ isOutOfTime: () -> Bool, _ next: (Position) -> Step?) -> [Frame]? {
        let kept = 512
        var frames: [Frame] = []
        var position = start
        for _ in 0..<Self.farthest {
            guard !isOutOfTime(), let step = next(position) else { return nil }
            guard case .caller(let caller, let trust) = step, caller.programCounter != 0 else { return frames }
            guard isPlausible(caller), let found = frame(caller, trust: trust) else { return nil }
            frames.append(found)
            if frames.count >= 2 * kept { frames.removeFirst(kept) }
            position = caller
        }
        return nil
    }

    private func frame(_ position: Position, trust: WatchdogVerdict.Frame.Trust) -> Frame? {
        guard let programCounter = position.programCounter else { return nil }
        return Frame(
            programCounter: programCounter,
            isReturnAddress: position.isReturnAddress,
            trust: trust,
            asyncContext: position.registers[X86_64.asyncContext],
            framePointer: position.registers[X86_64.Register.rbp]
        )
    }

    private func step(from position: Position) -> Step? {
        if let interrupted = interruptedCode(at: position), isPlausible(interrupted) {
            return .caller(interrupted, .cfi)
        }
        switch stepByCallFrames(from: position) {
        case .outermost: return .outermost
        case .caller(let caller, let trust):
            if caller.programCounter == 0 { return .outermost }
            if isPlausible(caller) { return .caller(caller, trust) }
        case nil: break
        }
        guard !isThreadStart(position) else { return .outermost }
        return Recovery(unwinder: self, position: position)?.caller().map { .caller($0.position, $0.trust) }
    }

    private func stepByCallFrames(from position: Position) -> Step? {
        guard let address = position.lookupAddress, let rules = callFrames.rules(at: address) else { return nil }
        switch callFrames.step(rules, from: position.registers, read: read) {
        case .outermost: return .outermost
        case .caller(let registers, let isSignalFrame):
            // A return leaves the stack pointer above the callee's frame, or where it was if the innermost function has taken
            // its return address off the stack, as vfork does; a signal may have switched stacks.
            if !isSignalFrame {
                guard let old = position.stackPointer, let new = registers[X86_64.Register.rsp],
                    new > old || new == old && !position.isReturnAddress
                else { return nil }
            }
            return .caller(Position(registers: registers, isReturnAddress: !isSignalFrame), .cfi)
        case nil: return nil
        }
    }

    /// The code that a signal interrupted, if the position is in the code to which the handler returns.
    private func interruptedCode(at position: Position) -> Position? {
        guard let start = position.programCounter, let context = position.stackPointer,
            X86_64.returnsFromSignal(images.code(at: start, upTo: X86_64.longestSignalReturn))
        else { return nil }
        var registers = Registers(count: X86_64.registerCount)
        for number in 0..<X86_64.registerCount {
            registers[number] = X86_64.signalContextOffset(of: number).flatMap { read(context &+ $0) }
        }
        return Position(registers: registers, isReturnAddress: false)
    }

    /// The caller according to call frame information alone, if it is plausible.
    func callerByCallFrames(of position: Position) -> (caller: Position?, isOutermost: Bool) {
        switch stepByCallFrames(from: position) {
        case .outermost: (nil, true)
        case .caller(let caller, _): (caller.programCounter == 0 ? nil : caller, caller.programCounter == 0)
        case nil: (nil, false)
        }
    }

    private func isPlausible(_ caller: Position) -> Bool {
        if caller.programCounter.map(space.isExecutable) ?? false { return true }
        // A signal may interrupt a jump to an address without code; then the return address is on top of the stack.
        return !caller.isReturnAddress && caller.stackPointer.flatMap(read).map(space.isExecutable) ?? false
    }

    func read(_ address: UInt64) -> UInt64? {
        memory.word(at: address) ?? images.constantWord(at: address)
    }

    /// Whether this is the outermost code of a thread, whose call frame information may fail to mark it as such.
    private func isThreadStart(_ position: Position) -> Bool {
        guard let address = position.lookupAddress else { return true }
        let starts: Set = ["_start", "_start_c", "_dl_start_user"]
        // A thread's first function returns to clone; a thread inside clone was its caller.
        let clones: Set = ["__clone", "clone", "__clone3", "clone3"]
        if let name = symbols.function(containing: address)?.name,
            starts.contains(name) || position.isReturnAddress && clones.contains(name)
        {
            return true
        }
        guard let entry = images.index(containing: address).flatMap({ images.file(of: $0) })?.entry else {
            return false
        }
        return address &- entry < 64
    }
}

/// The registers of one frame, indexed by DWARF number; each may be unknown.
struct Registers: Equatable {
    private var values: [UInt64]
    private var known: UInt64 = 0

    /// Creates registers that are all unknown.
    init(count: Int) {
        values = Array(repeating: 0, count: min(count, 64))
    }

    subscript(number: Int) -> UInt64? {
        get { values.indices.contains(number) && known & (1 << UInt64(number)) != 0 ? values[number] : nil }
        set {
            guard values.indices.contains(number) else { return }
            values[number] = newValue ?? 0
            known = newValue == nil ? known & ~(1 << UInt64(number)) : known | 1 << UInt64(number)
        }
    }
}
