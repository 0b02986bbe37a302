// SPDX-License-Identifier: Apache-2.0

/// Where one verdict ends and the next begins, in tenths of a percent of the window.
public enum VerdictThresholds {
    /// On a CPU for at least this share: spinning.
    ///
    /// A thread that only computes still loses a few percent to interrupts and to others on its CPU; one that also
    /// sleeps seldom stays above 90 %.
    public static let spinning = 900

    /// Without a CPU for at least this share: starved.
    ///
    /// Above one half, waiting for a CPU explains more of the window than everything else together.
    public static let starved = 500

    /// Quotas kept the app's cgroups from running for at least this share of the time in which that was watched, and the
    /// main thread wanted to run: throttled.
    public static let throttled = 500

    /// Somebody waited for memory for at least this share of the time in which that was watched, and the main thread
    /// waited for pages: memory-stalled.
    public static let memoryStalled = 500

    /// On a CPU or without one for at least this share: busy, because it slept for less than a tenth.
    public static let busy = 900

    /// On a CPU or without one for at most this share: blocked.
    ///
    /// In the shortest allowance that kills, 5 s, these 5 % are 250 ms, from where on a main loop's silence counts as a
    /// hang: whatever ran for less cannot have been the cause.
    public static let blocked = 50
}
