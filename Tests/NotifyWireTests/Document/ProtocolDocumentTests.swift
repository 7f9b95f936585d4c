import Foundation
import NotifyWire
import Testing

/// Tests that the protocol document contains every error code and frame kind, and the limits.
@Suite struct ProtocolDocumentTests {
    private let text: String

    init() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources/NotifyWire/NotifyWire.docc/Protocol.md")
        text = try String(contentsOf: file, encoding: .utf8)
    }

    @Test func `the document lists all error codes`() {
        let rows = text.matches(of: /(?m)^\| (\d+) \| ([a-zA-Z]+) \| [^|]+ \| [^|]+ \|$/)
        let documented = rows.map { "\($0.output.1) \($0.output.2)" }
        #expect(documented == ErrorCode.allCases.map { "\($0.rawValue) \($0)" })
    }

    @Test(arguments: FrameKind.allCases)
    func `the document lists all frame kinds`(_ kind: FrameKind) {
        #expect(text.contains("0x" + String(format: "%02X", kind.rawValue)))
    }

    @Test(arguments: [
        "at most \(Limits.greetingBytes) bytes", "at most \(Limits.headerCount), at most 16,384 bytes",
        "1 to \(Limits.nameBytes) bytes", "up to \(Limits.objectBytes) bytes",
        "1 to \(Limits.subscriptionNameBytes) of", "number of patterns, 1 to \(Limits.patternsPerSubscription)",
        "default of \(Limits.defaultWindow)", "**post**, 0x02, \(Post.fixedSize) bytes",
        "**deliver**, 0x50, \(Delivery.fixedSize) bytes", "0x51, and **redelivery**, 0x52, \(Run.frameSize - 8) bytes",
        "at most \(Limits.reservedHeaderCount) reserved headers, of at most 4,096 bytes", "the reason, at most 1,280",
        "number of sequences, at most 1,024 |\n| 16 |", "At most \(DurableSettingChanges.maximumRetryDelays), each",
        "no limit, else 100 ms to 30 days", "at most 65,536 | 0 | 0 |", "at the same time, 1 to 16,384",
        "in milliseconds, 1 to 3,600,000", "**ask**, 0x1A, \(Ask.fixedSize) bytes",
        "**service call**, 0x54, \(ServiceCall.fixedSize) bytes", "**respond**, 0x1C, \(Respond.fixedSize) bytes",
        "**announce**, 0x29, \(Announce.fixedSize) bytes", "grace period in milliseconds, at most 600,000",
    ])
    func `the document states the limits`(_ phrase: String) {
        #expect(text.contains(phrase))
        #expect(Limits.reservedHeaderBytes == 4_096 && Limits.reasonBytes == 1_280)
        #expect(Limits.maximumConcurrency == 16_384 && Limits.maximumAskTimeout == .milliseconds(3_600_000))
        #expect(Limits.maximumGrace == .milliseconds(600_000))
        #expect(Limits.deadLettersPerFrame == 1_024 && DurableSettingChanges.maximumInFlightLimit == 65_536)
        #expect(Limits.headerBytes == 16_384 && Limits.frameOverheadBytes == 65_536)
        #expect(text.contains("then at most 65,536 bytes more") && Limits.acknowledgedRangesPerFrame == 1_024)
    }
}
