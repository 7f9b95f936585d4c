import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

struct CommitPipelineTests {
    private let configuration: BrokerConfiguration = {
        var configuration = BrokerConfiguration()
        configuration.pendingLogBytes = 400
        return configuration
    }()

    private func pipeline() -> CommitPipeline {
        CommitPipeline(
            configuration,
            recovered: RecoveredLog(
                nextSequence: 5, persistedThrough: 4, subscriptions: [], wasClosedCleanly: true,
                nextSubscriptionID: DurableID(1)))
    }

    private func begin(_ pipeline: inout CommitPipeline, hasProgress: Bool = false, at now: Duration = .zero)
        -> CommitBatch?
    {
        pipeline.beginBatch(hasProgress: hasProgress, now: now) { UnsavedProgress() }
    }

    private func finish(
        _ pipeline: inout CommitPipeline, _ batch: CommitBatch, fails: Bool = false, at now: Duration = .zero
    ) -> InFlightBatch? {
        let result: Result<Void, StorageFailure> = fails ? .failure(.broken) : .success(())
        return pipeline.takeInFlight(
            CommitOutcome(batchID: batch.id, result: result, statistics: StoreStatistics()), now: now)
    }

    private func ready() throws -> CommitPipeline {
        var pipeline = pipeline()
        let batch = try #require(begin(&pipeline))
        _ = finish(&pipeline, batch)
        return pipeline
    }

    private func append(_ sequence: UInt64, to pipeline: inout CommitPipeline, size: Int = 10) -> Bool {
        withParts(name: "a", payload: Array(repeating: 1, count: size)) { parts in
            _ = pipeline.append(stamp(sequence), parts, .empty)
        }
        let receipt = Receipt(request: 1, sequence: sequence, subscribers: 0, stored: 0, durability: .stored)
        let waiter = PendingLog.Waiter(
            connection: ConnectionID(index: 0, generation: 0), wantsReceipt: true, receipt: receipt)
        pipeline.awaitCommit(of: waiter, isSynced: false)
        return pipeline.isBehind && pipeline.pauseUntilOutcome(waiter.connection.slot)
    }

    @Test func `no sequence is assigned before the first reservation`() throws {
        var pipeline = pipeline()
        #expect(throws: WireError.self) { try pipeline.takeSequence() }
        let batch = try #require(begin(&pipeline))
        #expect(batch.reserveBelow != nil)
        #expect(throws: WireError.self) { try pipeline.takeSequence() }
        _ = finish(&pipeline, batch)
        #expect(try pipeline.takeSequence() == 5)
    }

    @Test func `one batch is in flight at a time`() throws {
        var pipeline = try ready()
        _ = append(5, to: &pipeline)
        let first = try #require(begin(&pipeline))
        _ = append(6, to: &pipeline)
        #expect(begin(&pipeline) == nil)
        #expect(!pipeline.isIdle)
        let done = try #require(finish(&pipeline, first))
        pipeline.persisted(done)
        #expect(pipeline.persistedThrough == 5)
        let second = try #require(begin(&pipeline))
        #expect(second.id != first.id)
        #expect(finish(&pipeline, first) == nil, "a repeated outcome is ignored")
        #expect(finish(&pipeline, second)?.lastSequence == 6)
        #expect(pipeline.isIdle)
    }

    @Test func `progress is committed at its deadline`() throws {
        var pipeline = try ready()
        pipeline.progressMade(now: .zero)
        #expect(begin(&pipeline, hasProgress: true) == nil)
        #expect(pipeline.nextDeadline(pageStarted: nil) == configuration.acknowledgementDelay)
        #expect(begin(&pipeline, hasProgress: true, at: configuration.acknowledgementDelay) != nil)
        #expect(
            pipeline.nextDeadline(pageStarted: nil) == StorageHealth.responseTimeout
                + configuration.acknowledgementDelay
        )
    }

    @Test func `a batch of messages contains progress only when the progress is due`() throws {
        var pipeline = try ready()
        func isTaken(at now: Duration, hasRedeliveries: Bool = false, fails: Bool = false) -> Bool? {
            var isTaken = false
            let batch = pipeline.beginBatch(hasProgress: true, hasRedeliveries: hasRedeliveries, now: now) {
                isTaken = true
                return UnsavedProgress()
            }
            guard let batch else { return nil }
            _ = finish(&pipeline, batch, fails: fails, at: now)
            return isTaken
        }
        let delay = configuration.acknowledgementDelay
        pipeline.progressMade(now: .zero)
        _ = append(5, to: &pipeline)
        #expect(isTaken(at: .zero) == false)
        #expect(pipeline.nextDeadline(pageStarted: nil) == delay, "the progress is still to be committed")
        _ = append(6, to: &pipeline)
        #expect(isTaken(at: delay) == true)
        pipeline.progressMade(now: delay)
        pipeline.append(.forget(id: DurableID(1), sequences: [5]))
        #expect(isTaken(at: delay) == true, "a change of a subscription follows its progress")
        pipeline.progressMade(now: delay)
        pipeline.requestCommit()
        #expect(isTaken(at: delay) == true)
        pipeline.progressMade(now: delay)
        pipeline.append(nil, then: .probed)
        #expect(isTaken(at: delay) == true)
        _ = append(7, to: &pipeline)
        #expect(isTaken(at: delay) == true, "the progress has no deadline")
        pipeline.progressMade(now: delay)
        _ = append(8, to: &pipeline)
        #expect(isTaken(at: delay, hasRedeliveries: true) == true)
        pipeline.progressMade(now: delay)
        _ = append(9, to: &pipeline)
        #expect(isTaken(at: delay, fails: true) == false)
        #expect(pipeline.storageFailed(.broken, now: delay) == true)
        _ = append(10, to: &pipeline)
        pipeline.progressMade(now: delay)
        #expect(isTaken(at: delay) == true, "a batch after a failure contains everything")
    }

    @Test func `the time limit of a page that waits for a batch begins with the outcome of the batch`() throws {
        var pipeline = try ready()
        _ = append(5, to: &pipeline)
        let batch = try #require(begin(&pipeline))
        let timeout = StorageHealth.responseTimeout
        #expect(pipeline.nextDeadline(pageStarted: .seconds(1)) == timeout)
        _ = finish(&pipeline, batch, at: .seconds(9))
        #expect(pipeline.nextDeadline(pageStarted: .seconds(1)) == timeout + .seconds(9))
        let isLate = pipeline.checkResponseDeadline(pageStarted: .seconds(1), now: timeout + .seconds(1))
        #expect(!isLate)
        #expect(pipeline.nextDeadline(pageStarted: .seconds(12)) == timeout + .seconds(12))
    }

    @Test func `the deadline is cleared if there is no progress to persist`() throws {
        var pipeline = try ready()
        pipeline.progressMade(now: .zero)
        #expect(begin(&pipeline, at: .seconds(1)) == nil)
        #expect(pipeline.nextDeadline(pageStarted: nil) == nil)
    }

    @Test func `a connection is paused only once while too many bytes are pending`() throws {
        var pipeline = try ready()
        #expect(append(5, to: &pipeline, size: 10) == false)
        #expect(append(6, to: &pipeline, size: 400) == true)
        #expect(append(7, to: &pipeline, size: 100) == false, "the connection is already paused")
        #expect(pipeline.takePausedConnections() == [ConnectionSlot(0)])
        #expect(pipeline.takePausedConnections() == [])
    }

    @Test func `pending bytes beyond eight times the limit are refused`() throws {
        var pipeline = try ready()
        try pipeline.checkRoom()
        _ = append(5, to: &pipeline, size: 3200)
        #expect(throws: WireError.self) { try pipeline.checkRoom() }
    }

    @Test func `each retry writes a reservation while storage fails`() throws {
        var pipeline = try ready()
        _ = append(5, to: &pipeline)
        let batch = try #require(begin(&pipeline))
        #expect(finish(&pipeline, batch, fails: true) != nil)
        #expect(pipeline.storageFailed(.broken, now: .zero) == true)
        #expect(pipeline.storageFailed(.broken, now: .zero) == false, "the failure was already reported")
        #expect(begin(&pipeline) == nil)
        let retry = try #require(begin(&pipeline, at: configuration.storageRetryDelay))
        #expect(retry.reserveBelow != nil)
        #expect(finish(&pipeline, retry) != nil)
        #expect(pipeline.storageSucceeded() == true)
        #expect(pipeline.storageSucceeded() == false)
    }

    @Test func `a store that does not respond is reported once`() throws {
        var pipeline = try ready()
        #expect(pipeline.checkResponseDeadline(pageStarted: .zero, now: .seconds(9)) == false)
        #expect(pipeline.checkResponseDeadline(pageStarted: .zero, now: .seconds(10)) == true)
        #expect(pipeline.checkResponseDeadline(pageStarted: .zero, now: .seconds(11)) == false)
        #expect(pipeline.nextDeadline(pageStarted: .zero) == .seconds(10) + configuration.storageRetryDelay)
    }
}
