import Foundation
import Logging
import Testing
import TestSupport

@testable import NotifyServer

@Suite struct LineLogHandlerTests {
    private let folder: TemporaryFolder
    private let output: FileHandle
    private var path: String { folder.file("log") }

    init() throws {
        folder = try TemporaryFolder()
        output = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.write("", to: "log")))
    }

    private func destination(_ format: LogDestination.Format, level: LogLevel = .trace) -> LogDestination {
        LogDestination(descriptor: output.fileDescriptor, format: format, level: level)
    }

    private func logger(_ destination: LogDestination) -> Logger {
        Logger(label: "notifyd") { LineLogHandler(label: $0, destination: destination) }
    }

    private func written(by destination: LogDestination) throws -> String {
        destination.flush(within: .seconds(60))
        return try String(contentsOfFile: path, encoding: .utf8)
    }

    @Test(arguments: [
        (Logger.Level.trace, 7), (.debug, 7), (.info, 6), (.notice, 5), (.warning, 4), (.error, 3), (.critical, 2),
    ])
    func `journal lines have a priority and no time`(_ level: Logger.Level, _ priority: Int) throws {
        let destination = destination(.journal)
        logger(destination).log(level: level, "hello", metadata: ["uid": "7", "a": "b"])
        #expect(try written(by: destination) == "<\(priority)>notifyd: hello a=b uid=7\n")
    }

    @Test func `other lines have a time and the level`() throws {
        let handler = LineLogHandler(label: "notifyd", destination: destination(.timestamped))
        let event = LogEvent(
            level: .warning, message: "hello", metadata: nil, source: "s", file: "f", function: "f", line: 1)
        let time = Date(timeIntervalSince1970: 1_700_000_000.25)
        #expect(handler.line(for: event, at: time) == "2023-11-14T22:13:20.250Z warning notifyd: hello\n")
    }

    @Test func `a record is one line, regardless of its contents`() throws {
        let destination = destination(.journal)
        logger(destination).info("a\n<0>forged\r\u{1B}[2J\u{7F}\u{2028}", metadata: ["name": "x\ny"])
        #expect(
            try written(by: destination) == "<6>notifyd: a\\n<0>forged\\u{d}\\u{1b}[2J\\u{7f}\\u{2028} name=x\\ny\n")
    }

    @Test func `the level of all loggers changes together`() throws {
        let destination = destination(.journal, level: .info)
        let logger = logger(destination)
        logger.debug("not yet")
        destination.level = .debug
        logger.debug("now")
        var own = logger
        own.logLevel = .error
        own.warning("not for this one")
        #expect(try written(by: destination) == "<7>notifyd: now\n")
    }

    @Test func `the journal is recognized by device and inode`() throws {
        var status = stat()
        #expect(fstat(output.fileDescriptor, &status) == 0)
        let stream = "\(status.st_dev):\(status.st_ino)"
        func isJournal(_ value: String) -> Bool {
            LogDestination.isJournal(output.fileDescriptor, context(["JOURNAL_STREAM": value]))
        }
        #expect(isJournal(stream))
        #expect(!isJournal("\(status.st_dev):\(status.st_ino + 1)"))
        #expect(!isJournal("\(status.st_dev)"))
        #expect(!isJournal("x:y"))
        #expect(!isJournal(""))
    }
}
