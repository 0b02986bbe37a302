// SPDX-License-Identifier: Apache-2.0

import WatchdogReport

/// Turns addresses into frames of a report; each address is looked up once, however many threads share it.
final class FrameNamer {
    /// A machine frame's function, or a call inlined into it.
    private struct Call {
        var symbol: String?
        /// Run-time address of the function; nil for an inlined call.
        var start: UInt64?
        var location: SourceLocation?
        var isInlined: Bool
    }

    /// What stands at one address.
    private struct Entry {
        /// From the innermost inlined call outwards; the last is the function.
        var calls: [Call]
        /// The function only forwards to another.
        var isThunk: Bool
    }

    private let images: ImageTable
    private let symbols: Symbols
    private let lines: SourceLines
    private var cache: [UInt64: Entry] = [:]
    private var readableNames: [String: String] = [:]
    /// True once a frame lay in no image.
    private(set) var usesUnknownImage = false

    init(images: ImageTable, symbols: Symbols, lines: SourceLines) {
        self.images = images
        self.symbols = symbols
        self.lines = lines
    }

    /// The frames at one machine frame, innermost first: the calls inlined there, then the function.
    ///
    /// Swift's thunks are left out: whoever reads the stack did not write them. What was inlined into one takes its
    /// place.
    ///
    /// - Parameters:
    ///   - address: What the frames show.
    ///   - lookup: An address that is certainly within the call, to look up.
    ///   - keepsThunks: For the innermost frame, which is never left out.
    func frames(at address: UInt64, lookup: UInt64, trust: Frame.Trust, depth: Depth, keepsThunks: Bool) -> [Frame] {
        let entry = cache[lookup] ?? self.entry(at: lookup, depth: depth)
        cache[lookup] = entry
        var calls = entry.calls
        if entry.isThunk, !keepsThunks, let thunk = calls.popLast(), let inlined = calls.indices.last {
            calls[inlined].isInlined = false
            calls[inlined].start = thunk.start
        }
        let image = images.index(containing: lookup)
        if image == nil, !calls.isEmpty { usesUnknownImage = true }
        return calls.map { call in
            Frame(
                address: address,
                imageIndex: image ?? images.images.count,
                imageOffset: address &- (image.map { images.images[$0].range.lowerBound } ?? 0),
                symbol: call.symbol,
                symbolLocation: call.symbol.map { _ in call.start.map { address &- $0 } ?? 0 },
                sourceFile: call.location?.path,
                sourceLine: call.location?.line,
                isInlined: call.isInlined,
                trust: trust
            )
        }
    }

    private func entry(at address: UInt64, depth: Depth) -> Entry {
        guard depth > .addresses else { return Entry(calls: [Call(isInlined: false)], isThunk: false) }
        let source = depth == .lines ? lines.lookUp(address) : nil
        var location = source?.location
        var calls: [Call] = []
        for scope in source?.inlined ?? [] {
            // The innermost call is where the program counter is; each other stands at the call of the one before.
            if !isThunk(scope.name) {
                calls.append(Call(symbol: readable(scope.name), location: location, isInlined: true))
            }
            location = scope.call
        }
        let symbol = symbols.function(containing: address)
        let name = symbol?.name ?? source?.function?.name
        calls.append(
            Call(
                symbol: readable(name),
                start: symbol?.address ?? source?.function?.start,
                location: location,
                isInlined: false
            )
        )
        return Entry(calls: calls, isThunk: isThunk(name))
    }

    private func isThunk(_ name: String?) -> Bool {
        name.map(Demangler.isThunk) ?? false
    }

    private func readable(_ name: String?) -> String? {
        guard let name else { return nil }
        if let known = readableNames[name] { return known }
        let readable = Demangler.demangle(name)
        readableNames[name] = readable
        return readable
    }
}
