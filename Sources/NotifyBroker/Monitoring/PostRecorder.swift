/// Records posts for operators: counts by name, and the posts that match a monitor's patterns.
struct PostRecorder {
    var monitors = Monitors()
    var nameCounts = NameCounts()

    /// Whether posts are recorded. Checked at every post.
    @inline(__always)
    var isRecording: Bool { !monitors.isEmpty || nameCounts.isCounting }

    /// The earliest time at which a monitor, or the counting of names, ends unless a client asks again; nil if nothing
    /// is recorded.
    var deadline: Duration? { .earlier(monitors.deadline, nameCounts.deadline) }
}
