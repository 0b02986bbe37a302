// SPDX-License-Identifier: Apache-2.0

import Foundation
import SampleSupport
import Watchdog

/// Lists of stocks with a plot each, in four states of repair.
@MainActor
final class Stocks: Story {
    enum Stage: Int {
        case blocking
        case dataQueue
        case backgroundDrawing
        case cancellation

        static let names = ["blocking", "data-queue", "background-drawing", "cancellation"]
    }

    private static let groups = ["Tech", "Farming", "Shipping"]

    private let app: SampleApp
    private let stage: Stage
    private let market: Market
    /// Leaves one CPU to the main loop.
    private let queue = OperationQueue()
    private var operations: [Int: Operation] = [:]
    private var plots: [Int: Raster] = [:]
    private var prices: [Int: [Double]] = [:]
    /// The open group; nil while the list of groups is shown.
    private var group: Int?
    /// Counts the openings of groups, so that a late result is not shown on a newer screen.
    private var visit = 0

    init(_ app: SampleApp, _ stage: Stage) {
        self.app = app
        self.stage = stage
        market = Market(app: app)
        queue.maxConcurrentOperationCount = max(1, ProcessInfo.processInfo.activeProcessorCount - 1)
        queue.qualityOfService = .utility
    }

    func launch(_ options: Application.LaunchOptions) {
        app.screen.title = "Stocks · stage \(stage.rawValue + 1), \(Stage.names[stage.rawValue])"
        showGroups()
        app.firstFrame()
        app.useful()
    }

    func touched(_ event: String) {
        let words = event.split(separator: " ")
        switch words.first {
        case "select": open(words.dropFirst().first.flatMap { Int($0) } ?? 1)
        case "back": back()
        case "scroll": scroll(to: words.dropFirst().first.flatMap { Int($0) } ?? app.screen.top + 1)
        default: app.screen.render()
        }
    }

    func end() {}

    func leave() { queue.cancelAllOperations() }

    // MARK: - Screens

    private func showGroups() {
        group = nil
        app.screen.top = 0
        app.screen.rows = Self.groups.map { Screen.Row($0, detail: "\(Market.stocks) stocks") }
        app.screen.footer = "1-3 opens a group, ESC goes back, q quits"
        app.screen.render()
    }

    private func open(_ number: Int) {
        guard group == nil, Self.groups.indices.contains(number - 1) else { return }
        group = number - 1
        visit += 1
        app.screen.rows = (0..<Market.stocks).map { Screen.Row(Market.symbol($0), detail: "…", isPlaceholder: true) }
        switch stage {
        case .blocking: loadOnMain()
        case .dataQueue, .backgroundDrawing: for stock in 0..<Market.stocks { queue(stock) }
        case .cancellation: queueVisible()
        }
        app.screen.render()
    }

    /// Leaves the group, and cancels its work.
    private func back() {
        guard group != nil else { return }
        let unfinished = queue.operationCount
        if stage == .cancellation {
            queue.cancelAllOperations()
            operations = [:]
        }
        app.record.note("unfinished-at-back", "\(unfinished)")
        app.record.note("cancelled-at-back", stage == .cancellation ? "\(unfinished)" : "0")
        showGroups()
    }

    private func scroll(to top: Int) {
        app.screen.top = max(0, min(top, app.screen.rows.count - Screen.visibleRows))
        if group != nil, stage == .cancellation { queueVisible() }
        app.screen.render()
    }

    // MARK: - Work

    @inline(never)
    private func loadOnMain() {
        for stock in 0..<Market.stocks {
            guard let prices = try? market.load(stock) else { continue }
            show(prices, of: stock)
            if let plot = market.draw(prices) { show(plot, of: stock) }
        }
    }

    /// Queues work for the visible rows only, and cancels that of each row that has scrolled away.
    private func queueVisible() {
        let visible = app.screen.top..<app.screen.top + Screen.visibleRows
        for (stock, operation) in operations where !visible.contains(stock) {
            operation.cancel()
            operations[stock] = nil
        }
        for stock in visible where stock < Market.stocks && plots[stock] == nil && operations[stock] == nil {
            queue(stock)
        }
    }

    private func queue(_ stock: Int) {
        if let plot = plots[stock] { return show(plot, of: stock) }
        let (market, visit, drawsHere) = (market, visit, stage != .dataQueue)
        let operation = StockOperation { isCancelled in
            guard let prices = try? market.load(stock, isCancelled: isCancelled) else { return }
            self.app.onMain { if self.visit == visit, self.group != nil { self.show(prices, of: stock) } }
            guard drawsHere else {
                // In this stage, main draws the plot.
                self.app.onMain { if let plot = market.draw(prices) { self.show(plot, of: stock) } }
                return
            }
            guard let plot = market.draw(prices, isCancelled: isCancelled) else { return }
            self.app.onMain { self.finish(stock, plot, visit) }
        }
        operations[stock] = operation
        queue.addOperation(operation)
    }

    /// Caches a plot for the next visit, and shows it if its row is still on the screen.
    private func finish(_ stock: Int, _ plot: Raster, _ visit: Int) {
        plots[stock] = plot
        operations[stock] = nil
        if self.visit == visit { show(plot, of: stock) }
    }

    private func show(_ prices: [Double], of stock: Int) {
        self.prices[stock] = prices
        guard group != nil, app.screen.rows.indices.contains(stock) else { return }
        app.screen.rows[stock].detail = prices.last.map { "\(Int($0))" } ?? ""
        app.screen.render()
    }

    private func show(_ plot: Raster, of stock: Int) {
        plots[stock] = plot
        app.record.note("plots", "\(plots.count)")
        guard group != nil, app.screen.rows.indices.contains(stock) else { return }
        app.screen.rows[stock].picture = plot
        app.screen.rows[stock].isPlaceholder = false
        app.screen.render()
        if plots.count == Market.stocks { app.complete() }
    }
}
