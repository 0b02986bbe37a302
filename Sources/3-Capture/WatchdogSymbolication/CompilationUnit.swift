// SPDX-License-Identifier: Apache-2.0

import CSymbolication

/// The lines and functions of one compilation unit.
///
/// All addresses are those in the debug information.
final class CompilationUnit {
    struct InlinedCall {
        /// Mangled, if the language mangles names.
        var name: String?
        var call: SourceLocation?
    }

    private struct Function {
        var range: Range<UInt64>
        var die: Dwarf_Die
    }

    private static let entryLimit = 4 << 20
    private static let depthLimit = 64
    private static let nestingLimit = 32

    private var die: Dwarf_Die
    /// The entry that contains the functions: the unit itself, or a separate file (DWARF 5, section 7.3.2).
    private lazy var contents: Dwarf_Die = splitUnit() ?? die
    private lazy var functions: [Function] = readFunctions()
    private lazy var files: (table: OpaquePointer, count: Int)? = readFiles()

    init(_ die: Dwarf_Die) {
        self.die = die
    }

    /// The source location of the instruction at `address`.
    func location(of address: UInt64) -> SourceLocation? {
        var number: Int32 = 0
        guard let line = dwarf_getsrc_die(&die, address), dwarf_lineno(line, &number) == 0,
            let path = dwarf_linesrc(line, nil, nil)
        else { return nil }
        return SourceLocation(path: path, line: UInt64(max(0, number)))
    }

    /// The calls inlined at `address`, innermost first, and the function that contains them.
    func calls(at address: UInt64) -> (inlined: [InlinedCall], function: (name: String?, start: UInt64)?) {
        let next = functions.partitionPoint { $0.range.lowerBound > address }
        let first = max(0, next - CompilationUnit.nestingLimit)
        guard let function = functions[first..<next].last(where: { $0.range.contains(address) }) else {
            return ([], nil)
        }
        var die = function.die
        var calls: [InlinedCall] = []
        appendInlinedCalls(in: &die, at: address, to: &calls, depth: 0)
        return (calls.reversed(), (DebugInformation.name(of: &die), function.range.lowerBound))
    }

    private func appendInlinedCalls(
        in parent: inout Dwarf_Die,
        at address: UInt64,
        to calls: inout [InlinedCall],
        depth: Int
    ) {
        guard depth < CompilationUnit.depthLimit else { return }
        DebugInformation.forEachChild(of: &parent) { child in
            let tag = Int(dwarf_tag(&child))
            guard tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block,
                dwarf_haspc(&child, address) > 0
            else { return true }
            if tag == DW_TAG_inlined_subroutine {
                calls.append(InlinedCall(name: DebugInformation.name(of: &child), call: callSite(of: &child)))
            }
            appendInlinedCalls(in: &child, at: address, to: &calls, depth: depth + 1)
            return false
        }
    }

    private func callSite(of die: inout Dwarf_Die) -> SourceLocation? {
        guard let file = DebugInformation.unsigned(DW_AT_call_file, of: &die),
            let line = DebugInformation.unsigned(DW_AT_call_line, of: &die),
            let files, file < UInt64(files.count), let path = dwarf_filesrc(files.table, Int(file), nil, nil)
        else { return nil }
        return SourceLocation(path: path, line: line)
    }

    private func readFiles() -> (table: OpaquePointer, count: Int)? {
        var table: OpaquePointer?
        var count = 0
        guard dwarf_getsrcfiles(&contents, &table, &count) == 0, let table else { return nil }
        return (table, count)
    }

    private func splitUnit() -> Dwarf_Die? {
        var split = Dwarf_Die()
        let result = dwarf_cu_info(die.cu, nil, nil, nil, &split, nil, nil, nil)
        return result == 0 && dwarf_tag(&split) == DW_TAG_compile_unit ? split : nil
    }

    // MARK: - Functions

    private func readFunctions() -> [Function] {
        var functions: [Function] = []
        var budget = CompilationUnit.entryLimit
        var unit = contents
        collect(from: &unit, into: &functions, depth: 0, budget: &budget)
        return functions.sorted { $0.range.lowerBound < $1.range.lowerBound }
    }

    /// Collects the functions in the unit itself, in namespaces, in types, and in other functions.
    private func collect(from parent: inout Dwarf_Die, into functions: inout [Function], depth: Int, budget: inout Int)
    {
        guard depth < CompilationUnit.depthLimit else { return }
        DebugInformation.forEachChild(of: &parent) { child in
            budget -= 1
            switch Int(dwarf_tag(&child)) {
            case DW_TAG_subprogram:
                for range in DebugInformation.ranges(of: &child) {
                    functions.append(Function(range: range, die: child))
                }
            case DW_TAG_namespace, DW_TAG_module, DW_TAG_class_type, DW_TAG_structure_type, DW_TAG_union_type,
                DW_TAG_enumeration_type, DW_TAG_interface_type:
                collect(from: &child, into: &functions, depth: depth + 1, budget: &budget)
            default: break
            }
            return budget > 0
        }
    }
}
