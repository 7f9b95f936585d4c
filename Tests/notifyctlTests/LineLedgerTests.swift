import NotifyWire
import Testing

@testable import NotifyClient
@testable import notifyctl

@Suite struct LineLedgerTests {
    private func receipt(_ durability: NotifyWire.Durability, subscribers: UInt32 = 0) -> PipelineBuffer.Outcome {
        .success(
            NotificationClient.Receipt(
                NotifyWire.Receipt(request: 1, sequence: 1, subscribers: subscribers, stored: 0, durability: durability)
            ))
    }

    private func refusal(_ code: NotifyError.Code) -> PipelineBuffer.Outcome {
        .failure(NotifyError(code, "refused", isRefusal: true))
    }

    private func ledger(lines: ClosedRange<Int>) -> LineLedger {
        var ledger = LineLedger()
        ledger.submitted(lines.map { InputLine(number: $0, payload: []) })
        return ledger
    }

    @Test func `lines are counted by their receipts`() {
        var ledger = ledger(lines: 1...4)
        for outcome in [receipt(.stored), receipt(.volatile), receipt(.volatile, subscribers: 1), receipt(.synced)] {
            #expect(ledger.received(outcome) == nil)
        }
        #expect(
            ledger.summary(next: nil)
                == "posted 4 lines (2 stored, 1 neither stored nor received by anyone)")
        #expect(ledger.status == .success && ledger.failure == nil)
    }

    @Test func `at most ten invalid lines are reported, and none stops the posting`() {
        var ledger = ledger(lines: 1...15)
        let reports = (1...14).compactMap { _ in ledger.received(refusal(.payloadTooLarge)) }
        #expect(reports.count == 10 && reports.last == "line 10: refused")
        _ = ledger.received(receipt(.stored))
        #expect(ledger.failure == nil && ledger.status == .invalidData)
        #expect(ledger.summary(next: nil) == "posted 1 line (1 stored), 14 invalid")
    }

    @Test(
        arguments: [
            (.storageFailed, .refusedForNow, true), (.logFull, .refusedForNow, true),
            (.limitReached, .refusedForNow, true),
            (.daemonClosing, .noDaemon, true), (.forbidden, .forbidden, false),
        ] as [(NotifyError.Code, notifyctl.ExitStatus, Bool)])
    func `the first refusal stops the posting, and the refused lines are known`(
        code: NotifyError.Code, status: notifyctl.ExitStatus, isRetryable: Bool
    ) {
        var ledger = ledger(lines: 1...5)
        for outcome in [receipt(.stored), refusal(code), receipt(.stored), refusal(code), refusal(code)] {
            #expect(ledger.received(outcome) == nil)
        }
        #expect(ledger.failure?.line == 2 && ledger.status == status && ledger.isRetryable == isRetryable)
        #expect(
            ledger.summary(next: 6)
                == "posted 2 lines (2 stored), 3 not posted (lines 2, 4 to 5), none from line 6 on")
        #expect(ledger.takeRefused().map(\.number) == [2, 4, 5])
        #expect(ledger.failure == nil && ledger.refused.isEmpty)
    }

    @Test func `lines that are posted after later ones are counted`() {
        var ledger = ledger(lines: 1...4)
        for outcome in [receipt(.stored), refusal(.logFull), receipt(.stored), refusal(.logFull)] {
            _ = ledger.received(outcome)
        }
        #expect(ledger.summary(next: nil) == "posted 2 lines (2 stored), 2 not posted (lines 2, 4)")
        ledger.submitted(ledger.takeRefused())
        for _ in 0..<2 { _ = ledger.received(receipt(.stored)) }
        #expect(ledger.summary(next: nil) == "posted 4 lines (4 stored), 1 of them after later lines")
    }

    @Test func `lines without an outcome are unknown and never sent again`() {
        var ledger = ledger(lines: 1...6)
        _ = ledger.received(receipt(.stored))
        _ = ledger.received(.failure(.outcomeUnknown))
        _ = ledger.received(.failure(.notConnected(after: .seconds(1), lastFailure: nil)))
        ledger.abandon(wasConnected: true)
        #expect(!ledger.isRetryable && ledger.status == .failure)
        #expect(
            ledger.summary(next: nil)
                == "posted 1 line (1 stored), 1 not posted (line 3), unknown for 4 (lines 2, 4 to 6)")
    }

    @Test func `lines that waited for the first connection are known not to be posted`() {
        var ledger = ledger(lines: 1...4)
        ledger.abandon(wasConnected: false)
        #expect(ledger.summary(next: nil) == "posted 0 lines (0 stored), 4 not posted (lines 1 to 4)")
        #expect(ledger.status == .failure)
    }

    @Test func `lines that the client has not sent before its end are known not to be posted`() {
        var ledger = ledger(lines: 1...2)
        for _ in 0..<2 { _ = ledger.received(.failure(.stopped)) }
        #expect(ledger.summary(next: nil) == "posted 0 lines (0 stored), 2 not posted (lines 1 to 2)")
        #expect(!ledger.isRetryable)
    }

    @Test func `errors that follow from an interruption are no failure of a line`() {
        var ledger = ledger(lines: 1...4)
        ledger.interrupted()
        for outcome in [receipt(.stored), .failure(.outcomeUnknown), .failure(.stopped), .failure(.stopped)] {
            _ = ledger.received(outcome)
        }
        #expect(ledger.failure == nil && ledger.status == .failure)
        #expect(
            ledger.summary(next: 5)
                == "posted 1 line (1 stored), 2 not posted (lines 3 to 4), none from line 5 on, unknown for 1 (line 2)")
    }

    @Test func `the text of ranges of lines has at most four ranges`() {
        #expect("\(LineRanges([1, 3, 4, 6, 8, 9, 11]))" == "lines 1, 3 to 4, 6, 8 to 9, …")
    }
}
