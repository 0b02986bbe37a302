// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// The recording of one launch of a program.
///
/// All times are relative to the request, the moment at which watchdogd was requested to launch the program.
public struct LaunchRecording: Equatable, Sendable {
    /// The launched program.
    public var program: LaunchedProgram
    /// The machine on which it was launched.
    public var host: RecordingHost
    /// The time of the request.
    public var requested: WallTime
    /// The attempted rungs, with the reasons of failures.
    public var ladder: [RungAttempt]
    /// The phases in order of time.
    ///
    /// They are adjacent, without overlaps and gaps.
    public var phases: [LaunchPhase]
    /// Moments within the launch that the program or the kernel reported, in order of time.
    public var marks: [LaunchMark]
    /// The end of the launch.
    public var end: LaunchEnd
    /// The program's libraries, in the order in which they were mapped.
    public var objects: [LoadedObject]
    /// The constructors that ran before `main`, in order of time; nil if they were not timed.
    public var constructors: [LaunchConstructor]?
    /// One lane for each thread of the program and of its descendants, in order of their start.
    public var lanes: [ThreadLane]
    /// Samples of the main thread's CPU time; nil if none could be taken.
    public var samples: SampledCalls?
    /// The total costs of the launch.
    public var resources: LaunchResources
    /// The number of lost kernel records.
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
