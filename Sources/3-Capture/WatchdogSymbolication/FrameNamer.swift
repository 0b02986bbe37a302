// SPDX-License-Identifier: Apache-2.0

import WatchdogVerdict

/// Turns addresses into frames for a report; each address is looked up once, no matter how many threads share it.
final class FrameNamer {
    /// The function of a machine frame, or a call inlined into it.
    private struct Call {
        var symbol: String?
        /// The run-time address of the function; nil for an inlined call.
        var start: UInt64?
        var location: SourceLocation?
        var isInlined: Bool
        var language: Frame.Language?
        /// The file, if the line is unknown.
        var file: String?
    }

    /// The calls at one address.
    private struct Entry {
        /// From the innermost inlined call outward; the last one is the function.
        var calls: [Call]
        /// Whether the function only forwards to another.
        var isThunk: Bool
    }

    private let images: ImageTable
    private let symbols: Symbols
    private let lines: SourceLines
    private let generated: GeneratedCode?
    private var cache: [UInt64: Entry] = [:]
    private var readableNames: [String: String] = [:]
    /// Whether any frame was outside all images.
    private(set) var usesUnknownImage = false
    /// The index of the image of code in no file; the report gets that image.
    var unknownImage: Int {
        usesUnknownImage = true
        return images.images.count
    }

    init(images: ImageTable, symbols: Symbols, lines: SourceLines, generated: GeneratedCode? = nil) {
        self.images = images
        self.symbols = symbols
        self.lines = lines
        self.generated = generated
    }

    /// The frames at one machine frame, innermost first: the calls inlined there, then the function.
    ///
    /// Swift's thunks are omitted, because they are not in the source. A call inlined into a thunk takes its place.
    ///
    /// - Parameters:
    ///   - address: The address that the frames show.
    ///   - lookup: An address that is certainly within the call, used for the lookup.
    ///   - keepsThunks: Whether this is the innermost frame, which is never omitted.
    func frames(at address: UInt64, lookup: UInt64, trust: Frame.Trust, depth: Depth, keepsThunks: Bool) -> [Frame] {
        let entry = cache[lookup] ?? self.entry(at: lookup, depth: depth)
        cache[lookup] = entry
        var calls = entry.calls
        if entry.isThunk, !keepsThunks, let thunk = calls.popLast(), let inlined = calls.indices.last {
            calls[inlined].isInlined = false
            calls[inlined].start = thunk.start
        }
        let image = images.index(containing: lookup)
        return calls.map { call in
            Frame(
                address: address,
                imageIndex: image ?? unknownImage,
                imageOffset: address &- (image.map { images.images[$0].range.lowerBound } ?? 0),
                symbol: call.symbol,
                symbolLocation: call.symbol.map { _ in call.start.map { address &- $0 } ?? 0 },
                sourceFile: call.location?.path ?? call.file,
                sourceLine: call.location?.line,
                isInlined: call.isInlined,
                language: call.language,
                trust: trust
            )
        }
    }

    private func entry(at address: UInt64, depth: Depth) -> Entry {
        guard depth > .addresses else { return Entry(calls: [Call(isInlined: false)], isThunk: false) }
        if images.index(containing: address) == nil, let (start, function) = generated?.function(at: address) {
            let location = function.file.flatMap { file in
                function.line.map { SourceLocation(path: file, line: $0) }
            }
            let call = Call(
                symbol: function.name, start: start, location: location, isInlined: false,
                language: function.language, file: function.file)
            return Entry(calls: [call], isThunk: false)
        }
        let source = depth == .lines ? lines.lookUp(address) : nil
        var location = source?.location
        // A Go program without debug data has lines in its own table.
        if depth == .lines, source == nil { location = symbols.goFunction(containing: address)?.location }
        var calls: [Call] = []
        for scope in source?.inlined ?? [] {
            // The innermost call is located at the program counter, every other one at the call site of the one before.
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
