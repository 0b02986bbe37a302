// SPDX-License-Identifier: Apache-2.0

import CSymbolication
import Glibc

/// Call frame information (`.eh_frame` and `.debug_frame`) of all images.
final class CallFrameInformation {
    /// How to compute the caller's registers at one program counter.
    struct Rules {
        enum Rule {
            case undefined
            case sameValue
            case expression(DwarfExpression)
        }

        var canonicalFrameAddress: DwarfExpression
        var registers: [Rule]
        var returnAddress: Int
        /// Whether the "caller" is code that a signal interrupted.
        var isSignalFrame: Bool
    }

    /// The result of one step.
    enum Step {
        case caller(Registers, isSignalFrame: Bool)
        /// According to the information, this frame has no caller.
        case outermost
    }

    private let images: ImageTable
    private let ignored: Set<Int>
    private var cache: [UInt64: Rules?] = [:]

    /// Creates the table.
    ///
    /// - Parameter ignored: Images, by index, whose call frame information is ignored.
    init(_ images: ImageTable, ignoring ignored: Set<Int> = []) {
        self.images = images
        self.ignored = ignored
    }

    /// The rules at `address`, which must be in the function: a return address minus one, or the exact program counter.
    func rules(at address: UInt64) -> Rules? {
        if let known = cache[address] { return known }
        let rules = images.index(containing: address).flatMap { read(at: address, image: $0) }
        cache[address] = .some(rules)
        return rules
    }

    /// The caller's registers; nil if the rules need an unknown value.
    func step(_ rules: Rules, from registers: Registers, read: @escaping (UInt64) -> UInt64?) -> Step? {
        guard rules.registers.indices.contains(rules.returnAddress) else { return nil }
        if case .undefined = rules.registers[rules.returnAddress] { return .outermost }
        var context = DwarfExpression.Context(registers: registers, canonicalFrameAddress: nil, read: read)
        // The CFA rule is an expression, not a location: the value that it leaves on the stack is the address itself.
        guard case .address(let frameAddress) = rules.canonicalFrameAddress.evaluate(in: context) else { return nil }
        context.canonicalFrameAddress = frameAddress
        var caller = Registers(count: rules.registers.count)
        for (number, rule) in rules.registers.enumerated() {
            switch rule {
            case .undefined: break
            case .sameValue: caller[number] = registers[number]
            case .expression(let expression):
                switch expression.evaluate(in: context) {
                case .value(let value): caller[number] = value
                case .address(let address): caller[number] = read(address)
                case .register(let other): caller[number] = registers[other]
                case nil: break
                }
            }
        }
        guard let target = caller[rules.returnAddress] else { return nil }
        caller[X86_64.Register.rip] = target
        return .caller(caller, isSignalFrame: rules.isSignalFrame)
    }

    private func read(at address: UInt64, image: Int) -> Rules? {
        guard !ignored.contains(image), let module = images.module(image) else { return nil }
        var bias: Dwarf_Addr = 0
        var frame: OpaquePointer?
        let unwindTable = dwfl_module_eh_cfi(module, &bias)
        if unwindTable == nil || dwarf_cfi_addrframe(unwindTable, address &- bias, &frame) != 0 {
            guard let table = dwfl_module_dwarf_cfi(module, &bias),
                dwarf_cfi_addrframe(table, address &- bias, &frame) == 0
            else { return nil }
        }
        guard let frame else { return nil }
        defer { free(UnsafeMutableRawPointer(frame)) }
        return Rules(frame)
    }
}

extension CallFrameInformation.Rules {
    /// Copies libdw's operations, which are freed with the frame and the table.
    fileprivate init?(_ frame: OpaquePointer) {
        var isSignalFrame = false
        let returnAddress = dwarf_frame_info(frame, nil, nil, &isSignalFrame)
        var operations: UnsafeMutablePointer<Dwarf_Op>?
        var count = 0
        guard returnAddress >= 0, dwarf_frame_cfa(frame, &operations, &count) == 0, count > 0 else { return nil }
        self.isSignalFrame = isSignalFrame
        self.returnAddress = Int(returnAddress)
        canonicalFrameAddress = DwarfExpression(UnsafeBufferPointer(start: operations, count: count))
        registers = (0..<X86_64.registerCount).map { number in
            withUnsafeTemporaryAllocation(of: Dwarf_Op.self, capacity: 3) { scratch in
                var operations: UnsafeMutablePointer<Dwarf_Op>?
                var count = 0
                guard let base = scratch.baseAddress,
                    dwarf_frame_register(frame, Int32(number), base, &operations, &count) == 0
                else { return .undefined }
                guard count > 0 else { return operations == nil ? .sameValue : .undefined }
                return .expression(DwarfExpression(UnsafeBufferPointer(start: operations, count: count)))
            }
        }
    }
}
