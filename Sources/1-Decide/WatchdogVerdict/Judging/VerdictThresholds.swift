// SPDX-License-Identifier: Apache-2.0

/// The boundaries between verdicts, in tenths of a percent of the window.
public enum VerdictThresholds {
    /// On a CPU for at least this share: spinning.
    ///
    /// A thread that only computes still loses a few percent to interrupts and to other threads on its CPU. A thread
    /// that also sleeps seldom stays above 90 %.
    public static let spinning = 900

    /// On a CPU for at least this share and for ``computingTime``, and waiting for one for nearly all the rest: spinning as
    /// well.
    ///
    /// The wait for a CPU extends an allowance at most to its double, so by then such a thread has computed for half of the
    /// allowance itself, without any sleep.
    public static let computing = 300

    /// A computation of this length is a hang on an idle machine as well: the length from which hangs are reported by default.
    public static let computingTime = Duration.seconds(1)

    /// Without a CPU for at least this share: starved.
    ///
    /// Above one half, waiting for a CPU explains more of the window than everything else combined.
    public static let starved = 500

    /// Quotas kept the app's cgroups from running for at least this share of the observed time, and the main thread
    /// wanted to run: throttled.
    public static let throttled = 500

    /// Some task waited for memory for at least this share of the observed time, and the main thread waited for pages:
    /// memory-stalled.
    public static let memoryStalled = 500

    /// On a CPU or waiting for one for at least this share: busy, because it slept for less than a tenth.
    public static let busy = 900

    /// All CPUs together were busy for at least this share: a runnable process may have to wait.
    public static let full = 900

    /// On a CPU for at most this share, and asleep for at least ``asleep``: blocked.
    ///
    /// Of the shortest allowance that kills, 5 s, these 5 % are 250 ms, the shortest silence of a main loop that counts
    /// as a hang: a shorter computation cannot have been the cause.
    public static let blocked = 50

    /// On a CPU for at most this share is blocked as well, if every sample, from about half of the allowance on, and
    /// the last examination show the same sleep: an earlier computation did not make the thread late.
    public static let blockedThroughout = 100

    /// A blocked thread slept for at least this share.
    ///
    /// Waiting for a CPU is not running, so it may take up to a fifth of the window; beyond that, the machine is partly
    /// at fault.
    public static let asleep = 800
}
