/// Records posts for operators: counts by name, and the posts that match a monitor's patterns.
struct PostRecorder {
    var monitors = Monitors()
    var nameCounts = NameCounts()

    /// Whether posts are recorded. Checked at every post.
    @inline(__always)
    var isRecording: Bool { !monitors.isEmpty || nameCounts.isCounting }

    /// The time by which recording ends, unless a client asks again; nil if there is none.
    var deadline: Duration? { .earlier(monitors.deadline, nameCounts.deadline) }
}
