import NotifyLog

/// Decides for which purpose the next page of the log is read.
///
/// One page is read at a time, so that a commit waits for one page at most. Each purpose has its own queue of requests.
/// Purposes with waiting requests take turns: each gets a page after at most one page of every other purpose.
struct PageReads {
    var readers: LogReaders
    var histories = ClientReads<HistoryRead>()
    var values = ClientReads<ValueRead>()
    var traces = ClientReads<PendingTrace>()
    /// The purpose that gets the next page, if a request waits for it.
    private(set) var turn = PageRequest.Purpose.deadLetters
    /// The time at which the page that is being read was requested; nil if no page is being read.
    private(set) var started: Duration?

    init(readers: LogReaders) {
        self.readers = readers
    }

    /// Records that a page was requested.
    mutating func began(_ purpose: PageRequest.Purpose, now: Duration) {
        started = now
        turn = purpose.next
    }

    /// Records that the page was read.
    mutating func ended() {
        started = nil
    }
}

extension PageRequest.Purpose {
    /// The purpose after this one in the round of turns.
    var next: Self {
        switch self {
        case .deadLetters: .history
        case .history: .values
        case .values: .trace
        case .trace: .subscription
        case .subscription: .deadLetters
        }
    }
}
