import NotifyLog

/// A sum of the stored messages of each name, from the newest segment to the oldest.
///
/// Numbers and bytes come from the entries of the segments. Only segments that are partly in the range are read, and
/// those with the first or the last message of a name, to find its sequence. A pure value: ``Log`` reads the segments.
struct LogSummarySurvey {
    /// Messages to be read.
    struct Scan {
        /// The first sequence of the segment, by which it is known.
        let segment: UInt64
        var next: UInt64
        let last: UInt64
        /// Whether the messages are to be counted, because the segment is partly in the range.
        let isCounting: Bool
    }

    private struct State {
        var totals = LogSummary.Totals()
        /// The segments with the first and the last message, by their first sequences.
        var firstSegment: UInt64 = 0
        var lastSegment: UInt64 = 0
        /// Whether the first message was read. Otherwise its sequence and time are those of the segment.
        var isFirstRead = false
    }

    let request: SummaryRequest
    /// The end of the log when the survey began, if the range does not end before.
    private let last: UInt64
    private var states: [UInt32: State] = [:]
    private var mismatches: Set<UInt32> = []
    /// The segments that are wholly in the range, with the number of names whose first or last message they have.
    private var wanted: [UInt64: (last: UInt64, names: Int)] = [:]
    /// The survey continues with the newest segment below this sequence.
    private(set) var below: UInt64
    /// Whether all segments are counted.
    private(set) var isCounted = false
    var scan: Scan?

    init(_ request: SummaryRequest, persistedThrough: UInt64) {
        self.request = request
        last = min(request.last, persistedThrough)
        below = last + 1
    }

    /// The totals of each id of a name.
    var totals: [(name: UInt32, totals: LogSummary.Totals)] { states.map { ($0.key, $0.value.totals) } }

    // MARK: Segments

    /// Adds the next older segment, or begins to read it. `isMatching` is called once for each id of a name.
    mutating func add(
        _ segment: Segment, _ entries: some Sequence<SegmentEntry>, isMatching: (UInt32) -> Bool
    ) {
        below = min(below, segment.first)
        guard segment.last >= request.first, segment.first <= last else { return }
        guard segment.first >= request.first, segment.last <= last else {
            scan = Scan(
                segment: segment.first, next: max(segment.first, request.first), last: min(segment.last, last),
                isCounting: true)
            return
        }
        for entry in entries where matches(entry.name, isMatching) { add(entry, of: segment) }
    }

    private mutating func add(_ entry: SegmentEntry, of segment: Segment) {
        var state = states[entry.name] ?? State()
        if state.totals.messages == 0 {
            state.lastSegment = segment.first
            (state.totals.last, state.totals.lastTime) = (segment.last, segment.latest)
            want(segment)
        }
        if state.firstSegment != segment.first {
            wanted[state.firstSegment]?.names -= 1
            state.firstSegment = segment.first
            state.isFirstRead = false
            (state.totals.first, state.totals.firstTime) = (segment.first, segment.earliest)
            want(segment)
        }
        state.totals.messages += UInt64(entry.messages)
        state.totals.bytes += entry.bytes
        states[entry.name] = state
    }

    private mutating func want(_ segment: Segment) {
        wanted[segment.first, default: (segment.last, 0)].names += 1
    }

    private mutating func matches(_ name: UInt32, _ isMatching: (UInt32) -> Bool) -> Bool {
        if states[name] != nil { return true }
        if mismatches.contains(name) { return false }
        if isMatching(name) { return true }
        mismatches.insert(name)
        return false
    }

    /// All segments were added.
    mutating func counted() {
        isCounted = true
    }

    /// Begins to read the next segment with the first or the last message of a name.
    ///
    /// - Returns: False if there is none.
    mutating func beginScan() -> Bool {
        while let (first, (last, names)) = wanted.popFirst() {
            guard names > 0 else { continue }
            scan = Scan(segment: first, next: first, last: last, isCounting: false)
            return true
        }
        return false
    }

    // MARK: Messages

    /// Adds a message that was read. Must be called in ascending order within a segment.
    mutating func read(
        _ sequence: UInt64, _ name: UInt32, time: UInt64, bytes: UInt64, of scan: Scan, isMatching: (UInt32) -> Bool
    ) {
        guard scan.isCounting ? matches(name, isMatching) : states[name] != nil else { return }
        var state = states[name] ?? State()
        if scan.isCounting {
            if state.totals.messages == 0 { state.lastSegment = scan.segment }
            if state.firstSegment != scan.segment {
                wanted[state.firstSegment]?.names -= 1
                state.firstSegment = scan.segment
                state.isFirstRead = false
            }
            state.totals.messages += 1
            state.totals.bytes += bytes
        }
        if state.lastSegment == scan.segment { (state.totals.last, state.totals.lastTime) = (sequence, time) }
        if state.firstSegment == scan.segment, !state.isFirstRead {
            (state.totals.first, state.totals.firstTime) = (sequence, time)
            state.isFirstRead = true
        }
        states[name] = state
    }
}
