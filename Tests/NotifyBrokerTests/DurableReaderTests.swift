@testable import NotifyBroker
import NotifyCenter
import NotifyLog
import NotifyWire
import Testing

/// Holding, leaving, taking over, removing: every state and every event.
struct DurableReaderTests {
    @Test func aFreeOneMayBeTaken() {
        let reader = DurableReader.make()
        #expect(reader.attachRequested(by: .one, filter: .everything) == .free)
    }

    @Test func anotherFilterIsRefusedInEveryState() throws {
        let other = SubscriptionFilter(patterns: [.everyName], object: "x", uid: 1000)
        for state in ReaderState.allCases {
            guard case .refused(let error, let pid) = try state.reader().attachRequested(by: .one, filter: other)
            else {
                Issue.record("\(state)")
                continue
            }
            #expect(error.code == .subscriptionMismatch)
            #expect(pid == 0)
        }
    }

    @Test(arguments: [ReaderState.attaching, .behind, .paging, .live])
    func aHeldOneIsTakenOverByTheSameClientOnly(_ state: ReaderState) throws {
        let reader = try state.reader()
        #expect(reader.attachRequested(by: .one, filter: .everything) == .takeOver(from: .test()))
        guard case .refused(let error, let pid) = reader.attachRequested(by: .two, filter: .everything) else {
            Issue.record("not refused")
            return
        }
        #expect(error.code == .subscriptionHeld)
        #expect(pid == 42)
    }

    @Test func oneThatIsBeingRemovedIsNobodys() throws {
        for instance in [ClientInstance.one, .two] {
            guard
                case .refused(let error, _) = try ReaderState.removing.reader()
                    .attachRequested(by: instance, filter: .everything)
            else {
                Issue.record("not refused")
                return
            }
            #expect(error.code == .subscriptionInUse)
        }
    }

    @Test func onlyTheAttachmentThatWasAskedForIsCommitted() throws {
        var reader = DurableReader.make()
        #expect(reader.attachmentCommitted(.test()) == false, "nobody has asked")
        reader.attached(.test(), credit: 3)
        #expect(reader.room == 3)
        #expect(!reader.canRead, "nothing is handed over before the commit")
        #expect(reader.attachmentCommitted(.test(request: 2)) == false, "an earlier one's outcome is late")
        #expect(reader.attachmentCommitted(.test()) == true)
        #expect(reader.canRead)
        #expect(reader.attachmentCommitted(.test()) == false, "twice")
        reader.detached()
        #expect(reader.attachmentCommitted(.test()) == false, "late")
        #expect(reader.state == .detached)
    }

    @Test(arguments: ReaderState.allCases)
    func removalIsForWhatNobodyHolds(_ state: ReaderState) throws {
        var reader = try state.reader()
        if state == .detached {
            try reader.removalRequested()
            #expect(reader.state == .removing)
        } else {
            let error = #expect(throws: WireError.self) { try reader.removalRequested() }
            #expect(error?.code == .subscriptionInUse)
        }
    }

    @Test(arguments: ReaderState.allCases)
    func aFailedRemovalFreesOnlyWhatWasBeingRemoved(_ state: ReaderState) throws {
        var reader = try state.reader()
        let before = reader.state
        reader.removalFailed()
        #expect(reader.state == (state == .removing ? .detached : before))
    }

    @Test(arguments: ReaderState.allCases)
    func leavingAlwaysEndsTheHold(_ state: ReaderState) throws {
        var reader = try state.reader()
        let generation = reader.pageGeneration
        reader.detached()
        #expect(reader.attachment == nil)
        #expect(reader.state == (state == .removing ? .removing : .detached))
        #expect(reader.room == 0)
        #expect(!reader.progress.isAttached)
        let wasHeld = state != .detached && state != .removing
        #expect((reader.pageGeneration > generation) == wasHeld, "pages on their way are old then")
        reader.detached()
        #expect(reader.attachment == nil)
    }

    @Test(arguments: ReaderState.allCases)
    func whatIsDroppedIsNobodys(_ state: ReaderState) throws {
        var reader = try state.reader()
        reader.dropped()
        #expect(reader.state == .removing)
        #expect(reader.attachment == nil)
    }

    @Test(arguments: ReaderState.allCases)
    func onlyTheAwaitedPageIsTaken(_ state: ReaderState) throws {
        var reader = try state.reader()
        let before = reader.state
        #expect(reader.pageArrived(generation: reader.pageGeneration + 1) == false)
        #expect(reader.pageArrived(generation: reader.pageGeneration &- 1) == false)
        #expect(reader.pageArrived(generation: reader.pageGeneration) == (state == .paging))
        #expect(reader.state == (state == .paging ? .behind(isPageRequested: false) : before))
        #expect(reader.pageArrived(generation: reader.pageGeneration) == false, "twice")
    }

    @Test(arguments: ReaderState.allCases)
    func pagesAreAskedForOnlyBehind(_ state: ReaderState) throws {
        var reader = try state.reader()
        let before = reader.state
        reader.pageRequested()
        let isBehind = state == .behind || state == .paging
        #expect(reader.state == (isBehind ? .behind(isPageRequested: true) : before))
        #expect(!reader.canRead || !isBehind)
    }

    @Test(arguments: ReaderState.allCases)
    func onlyOneThatIsBehindCatchesUp(_ state: ReaderState) throws {
        var reader = try state.reader()
        let before = reader.state
        reader.caughtUp()
        #expect(reader.state == (state == .behind || state == .paging ? .live : before))
    }

    @Test(arguments: ReaderState.allCases)
    func onlyALiveOneFallsBehind(_ state: ReaderState) throws {
        var reader = try state.reader()
        let before = reader.state
        reader.fellBehind(at: 50)
        #expect(reader.state == (state == .live ? .behind(isPageRequested: false) : before))
        #expect(reader.position == (state == .live ? 50 : 10))
    }

    @Test func anOldPageOfAnEarlierHoldIsNotTaken() {
        var reader = DurableReader.held()
        reader.pageRequested()
        let old = reader.pageGeneration
        reader.detached()
        reader.attached(.test(request: 2), credit: Subscribe.unlimitedCredit)
        #expect(reader.attachmentCommitted(.test(request: 2)) == true)
        reader.pageRequested()
        #expect(reader.pageArrived(generation: old) == false)
        #expect(reader.pageArrived(generation: reader.pageGeneration) == true)
    }
}

/// The states a reader can be in, each with cursor 10.
enum ReaderState: CaseIterable {
    case detached, attaching, behind, paging, live, removing

    func reader() throws -> DurableReader {
        var reader = DurableReader.make(cursor: 10)
        switch self {
        case .detached: return reader
        case .removing:
            try reader.removalRequested()
            return reader
        case .attaching, .behind, .paging, .live:
            reader.attached(.test(), credit: Subscribe.unlimitedCredit)
        }
        if self == .attaching { return reader }
        _ = reader.attachmentCommitted(.test())
        if self == .paging { reader.pageRequested() }
        if self == .live { reader.caughtUp() }
        return reader
    }
}

extension ClientInstance {
    static let one = ClientInstance(high: 0, low: 1)
    static let two = ClientInstance(high: 0, low: 2)
}

extension SubscriptionFilter {
    static let everything = SubscriptionFilter(patterns: [.everyName], uid: 1000)
}

extension NotifyBroker.Attachment {
    static func test(request: UInt64 = 1, window: Int = 4) -> Self {
        Self(
            connection: ConnectionID(slot: 0, generation: 0), number: 7, instance: .one, pid: 42, request: request,
            isResumed: true, window: window)
    }
}

extension DurableReader {
    static func make(
        cursor: UInt64 = 10, seenThrough: UInt64 = 10, acknowledged: [SequenceRange] = []
    ) -> DurableReader {
        DurableReader(
            DurableRecord(
                id: 3, filter: .everything, name: "inbox",
                progress: DurableProgress(cursor: cursor, seenThrough: seenThrough, acknowledged: acknowledged)),
            registration: 1)
    }

    /// One that reads on behind the end of the log.
    static func held(
        cursor: UInt64 = 10, seenThrough: UInt64 = 10, acknowledged: [SequenceRange] = [], window: Int = 4,
        credit: UInt32 = Subscribe.unlimitedCredit
    ) -> DurableReader {
        var reader = make(cursor: cursor, seenThrough: seenThrough, acknowledged: acknowledged)
        reader.hold(window: window, credit: credit)
        return reader
    }

    mutating func hold(window: Int = 4, credit: UInt32 = Subscribe.unlimitedCredit) {
        attached(.test(window: window), credit: credit)
        _ = attachmentCommitted(.test(window: window))
    }
}
