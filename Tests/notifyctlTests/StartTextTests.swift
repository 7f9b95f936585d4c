import Foundation
import NotifyClient
import Testing

@testable import notifyctl

/// Positions in the log in questions and answers.
@Suite struct StartTextTests {
    private let now = Date(timeIntervalSince1970: 1_795_435_445)

    @Test func `the question of 'purge' names the messages to delete`() {
        let questions: [(NotificationClient.Start?, String)] = [
            (nil, "Delete the stored messages of 'a.*', 'b'?"),
            (.now, "Delete the stored messages of 'a.*', 'b' posted before now?"),
            (.sequence(432), "Delete the stored messages of 'a.*', 'b' with a sequence below 432?"),
            (.oldest, "Delete the stored messages of 'a.*', 'b' before the oldest one?"),
            (.time(now), "Delete the stored messages of 'a.*', 'b' posted before 2026-11-23T12:04:05.000Z?"),
            (.age(.seconds(7200)), "Delete the stored messages of 'a.*', 'b' posted before 2026-11-23T10:04:05.000Z?"),
        ]
        for (before, question) in questions {
            #expect(PurgeCommand.question(["a.*", "b"], before?.fixed(at: now), .utc, nil) == question)
        }
        let sizes: [(messages: UInt64, bytes: UInt64, String)] = [
            (0, 0, "are 0, 0B."), (1, 49, "is 1, 49B."), (20_000, 3 << 19, "are 20000, 1.5MiB."),
        ]
        for (messages, bytes, text) in sizes {
            #expect(
                PurgeCommand.question(["a"], nil, .utc, (messages, bytes))
                    == "Delete the stored messages of 'a'? At present, there \(text)")
        }
    }

    @Test func `a reset reports where the subscription continues`() {
        let texts: [(NotificationClient.Start, cursor: UInt64, String)] = [
            (.oldest, 0, "continues with the oldest stored message"),
            (.time(now), 0, "continues with the oldest stored message"),
            (.time(now), 7, "continues with messages posted since 2026-11-23T12:04:05.000Z, after sequence 7"),
            (.now, 7, "continues after sequence 7"), (.sequence(8), 7, "continues after sequence 7"),
        ]
        for (position, cursor, text) in texts {
            #expect(DurableResetCommand.text(position, cursor: cursor, .utc) == text)
        }
    }
}
