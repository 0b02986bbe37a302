// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// One launch of a program, as it was recorded.
///
/// All times count from the request, the moment at which watchdogd was asked to launch the program.
public struct LaunchRecording: Equatable, Sendable {
    /// What was launched.
    public var program: LaunchedProgram
    /// The machine on which it was launched.
    public var host: RecordingHost
    /// When the launch was requested.
    public var requested: WallTime
    /// How much could be recorded, and why not more.
    public var ladder: [RungAttempt]
    /// The phases in order of time.
    ///
    /// They do not overlap, and have no gaps between them.
    public var phases: [LaunchPhase]
    /// Moments within the launch that the program or the kernel reported, in order of time.
    public var marks: [LaunchMark]
    /// What ended the launch.
    public var end: LaunchEnd
    /// The program's libraries, in the order in which they were mapped.
    public var objects: [LoadedObject]
    /// The constructors that ran before `main`, in order of time; nil if they were not timed.
    public var constructors: [LaunchConstructor]?
    /// One lane for each thread of the program and of its descendants, in order of their start.
    public var lanes: [ThreadLane]
    /// Where the main thread's CPU time went; nil if no samples could be taken.
    public var samples: SampledCalls?
    /// What the launch cost as a whole.
    public var resources: LaunchResources
    /// How many of the kernel's records were lost.
    public var lostRecords: Int
    /// Gaps in the recording, each with its reason and its remedy, as sentences.
    public var notes: [String]

    /// Creates a recording.
    public init(
        program: LaunchedProgram, host: RecordingHost, requested: WallTime, ladder: [RungAttempt] = [],
        phases: [LaunchPhase] = [], marks: [LaunchMark] = [], end: LaunchEnd, objects: [LoadedObject] = [],
        constructors: [LaunchConstructor]? = nil, lanes: [ThreadLane] = [], samples: SampledCalls? = nil,
        resources: LaunchResources = LaunchResources(), lostRecords: Int = 0, notes: [String] = []
    ) {
        self.program = program
        self.host = host
        self.requested = requested
        self.ladder = ladder
        self.phases = phases
        self.marks = marks
        self.end = end
        self.objects = objects
        self.constructors = constructors
        self.lanes = lanes
        self.samples = samples
        self.resources = resources
        self.lostRecords = lostRecords
        self.notes = notes
    }
}
