import NotifyLog

/// Counts the stored messages of each name. Segments are added from the newest to the oldest.
///
/// Each segment has an entry with the number and the bytes of the messages of each name, so most messages are not read.
/// Messages are read only in three kinds of segments: those that are partly in the range; those with dead letters,
/// because the right to read a dead letter depends on its original message; and those with the first or the last
/// message of a name, to find its sequence. A pure value: ``Log`` reads the segments.
struct LogSummarySurvey {
    /// Messages to be read.
    struct Scan {
        /// The first sequence of the segment. Identifies the segment.
        let segment: UInt64
        var next: UInt64
        let last: UInt64
        let counting: Counting
    }

    /// The messages of a segment that are counted one by one.
    enum Counting {
        /// No messages: all are counted by the entries of the segment.
        case none
        /// Only dead letters.
        case deadLetters
        /// All messages, because the segment is partly in the range.
        case all
    }

    private struct State {
        var totals = LogSummary.Totals()
        /// The segments with the first and the last message, by their first sequences.
        var firstSegment: UInt64 = 0
        var lastSegment: UInt64 = 0
        /// Whether the first segment must be read, to find the first message.
        var isFirstWanted = false
        /// Whether the first message was read. Otherwise its sequence and time are those of the segment.
        var isFirstRead = false
    }

    let request: SummaryRequest
    /// The last sequence to count: the end of the requested range, or the end of the log when the survey began if that
    /// is lower.
    private let last: UInt64
    private var states: [UInt32: State] = [:]
    private var mismatches: Set<UInt32> = []
    /// The segments that must be read to find the first or the last message of names, by first sequence, with the
    /// number of these names.
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

    /// The totals of each name, with the name's id.
    var totals: [(name: UInt32, totals: LogSummary.Totals)] { states.map { ($0.key, $0.value.totals) } }

    // MARK: Segments

    /// Adds the next older segment, and begins to read it if its entries are not enough. `isMatching` is called once
    /// for most name ids. It is called again for a matching name of which no message was counted yet, such as that of a
    /// dead letter.
    mutating func add(
        _ segment: Segment, _ entries: some Sequence<SegmentEntry>, isMatching: (UInt32) -> Bool,
        isDeadLetter: (UInt32) -> Bool
    ) {
        below = min(below, segment.first)
        guard segment.last >= request.first, segment.first <= last else { return }
        guard segment.first >= request.first, segment.last <= last else {
            scan = Scan(
                segment: segment.first, next: max(segment.first, request.first), last: min(segment.last, last),
                counting: .all)
            return
        }
        for entry in entries where matches(entry.name, isMatching) {
            guard isDeadLetter(entry.name) else {
                add(entry, of: segment)
                continue
            }
            scan = Scan(segment: segment.first, next: segment.first, last: segment.last, counting: .deadLetters)
        }
    }

    private mutating func add(_ entry: SegmentEntry, of segment: Segment) {
        var state = states[entry.name] ?? State()
        if state.totals.messages == 0 {
            state.lastSegment = segment.first
            (state.totals.last, state.totals.lastTime) = (segment.last, segment.latest)
            want(segment)
        }
        if state.firstSegment != segment.first {
            begin(segment.first, of: &state)
            state.isFirstWanted = true
            (state.totals.first, state.totals.firstTime) = (segment.first, segment.earliest)
            want(segment)
        }
        state.totals.messages += UInt64(entry.messages)
        state.totals.bytes += entry.bytes
        states[entry.name] = state
    }

    /// Notes an older segment with messages of a name.
    private mutating func begin(_ segment: UInt64, of state: inout State) {
        if state.isFirstWanted { wanted[state.firstSegment]?.names -= 1 }
        state.firstSegment = segment
        (state.isFirstWanted, state.isFirstRead) = (false, false)
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
            scan = Scan(segment: first, next: first, last: last, counting: .none)
            return true
        }
        return false
    }

    // MARK: Messages

    /// Adds a message that was read from the log and that the client may receive. Must be called in ascending order
    /// within a segment.
    mutating func read(
        _ sequence: UInt64, _ name: UInt32, time: UInt64, bytes: UInt64, isDeadLetter: Bool, of scan: Scan,
        isMatching: (UInt32) -> Bool
    ) {
        let isCounted = scan.counting == .all || (scan.counting == .deadLetters && isDeadLetter)
        guard isCounted ? matches(name, isMatching) : states[name] != nil else { return }
        var state = states[name] ?? State()
        if isCounted {
            if state.totals.messages == 0 { state.lastSegment = scan.segment }
            if state.firstSegment != scan.segment {
                begin(scan.segment, of: &state)
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
