// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import SampleSupport

/// A stock's prices, and the steps that turn them into a plot.
///
/// Every step can run on any thread.
struct Market: Sendable {
    static let stocks = 24
    static let plotSize = (width: 200, height: 100)

    struct Quote: Codable {
        var day: Int
        var price: Double
    }

    /// The amounts of work for one stock, which are the same on every machine.
    ///
    /// The scale shortens the history, with which all work grows.
    private static let days = 60_000
    private static let smoothing = SampleApp.passes(7_000)
    private static let layers = SampleApp.passes(260)

    let app: SampleApp

    static func symbol(_ stock: Int) -> String {
        String(["ACME", "BOLT", "CORK", "DUNE", "ECHO", "FERN"][stock % 6]) + "\(stock / 6 + 1)"
    }

    /// Loads the smoothed prices of a stock; nil if canceled.
    @inline(never)
    func load(_ stock: Int, isCancelled: () -> Bool = { false }) throws -> [Double]? {
        let quotes = try app.interval("parse") {
            try JSONDecoder().decode([Quote].self, from: Data(contentsOf: URL(filePath: "\(app.bundle)/\(stock).json")))
        }
        guard !isCancelled() else { return nil }
        return app.interval("smooth") {
            Series.smoothed(quotes.map(\.price), passes: Self.smoothing, isCancelled: isCancelled)
        }
    }

    /// Draws the prices, and below them ever smoother versions; nil if canceled.
    @inline(never)
    func draw(_ prices: [Double], isCancelled: () -> Bool = { false }) -> Raster? {
        app.interval("draw") { Self.draw(prices, layers: Self.layers, isCancelled: isCancelled) }
    }

    @inline(never)
    private static func draw(_ prices: [Double], layers: Int, isCancelled: () -> Bool) -> Raster? {
        var plot = Series.plot(prices, width: plotSize.width, height: plotSize.height)
        var prices = prices
        for _ in 0..<layers {
            guard let smoother = Series.smoothed(prices, passes: 2, isCancelled: isCancelled) else { return nil }
            prices = smoother
            plot = Series.plot(prices, width: plotSize.width, height: plotSize.height)
        }
        return plot
    }

    /// Writes the files.
    @MainActor
    static func prepare(_ app: SampleApp) {
        app.prepare { folder in
            for stock in 0..<stocks {
                try write(app.amount(days), seed: stock + 1, to: URL(filePath: "\(folder)/\(stock).json"))
            }
        }
    }

    private static func write(_ count: Int, seed: Int, to file: URL) throws {
        let quotes = Series.walk(count, seed: seed).enumerated().map { Quote(day: $0.offset, price: $0.element) }
        try JSONEncoder().encode(quotes).write(to: file)
    }
}
