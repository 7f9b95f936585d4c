import ArgumentParser
import NIOCore
import NotifyWire
import Testing

@testable import NotifyClient
@testable import notifyctl

@Suite struct MessageFormatTests {
    private func message(
        object: String = "", headers: [(key: String, value: String)] = [], payload: [UInt8] = [],
        isRedelivered: Bool = false
    ) throws -> NotificationClient.Message {
        var buffer = ByteBuffer()
        let stamp = Stamp(sequence: 7, timeMicroseconds: 1_000_001, uid: 1, gid: 2, pid: 3)
        let encoded = try HeaderList.encode(headers)
        Array("a.b".utf8).withUnsafeBytes { name in
            Array(object.utf8).withUnsafeBytes { object in
                encoded.withUnsafeBytes { headers in
                    payload.withUnsafeBytes { payload in
                        let parts = MessageParts(
                            name: name, object: object, messageID: UnsafeRawBufferPointer(start: nil, count: 0),
                            headers: headers, payload: payload)
                        _ = Delivery.append(stamp, parts, to: &buffer)
                    }
                }
            }
        }
        let bytes = Array(buffer.readableBytesView.dropFirst(FrameHeader.size))
        let entry = MessageBatch.Entry(offset: 0, length: UInt32(bytes.count), isRedelivered: isRedelivered)
        let batch = MessageBatch(bytes: bytes, entries: [entry], byteCount: bytes.count)
        return NotificationClient.Message(batch: batch, index: 0)
    }

    private func text(
        _ content: MessageFormat.Content, terminator: UInt8? = UInt8(ascii: "\n"), _ message: NotificationClient.Message
    ) -> String {
        var bytes: [UInt8] = []
        MessageFormat(content: content, terminator: terminator).append(message, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func text(_ template: String, _ message: NotificationClient.Message) throws -> String {
        text(.template(try FormatTemplate(template)), terminator: nil, message)
    }

    @Test func `the payload is printed alone or after the name`() throws {
        let message = try message(payload: Array("x\ny".utf8))
        #expect(text(.payload, message) == "x\ny\n")
        #expect(text(.nameAndPayload, message) == "a.b x\ny\n")
    }

    @Test func `a message ends with the chosen terminator`() throws {
        let message = try message(payload: Array("x".utf8))
        #expect(text(.payload, terminator: nil, message) == "x")
        #expect(text(.payload, terminator: 0, message) == "x\0")
        #expect(text(.nameAndPayload, terminator: 0, message) == "a.b x\0")
    }

    @Test func `the JSON of a message has its keys in a fixed order`() throws {
        let text = try text(.json, message(headers: [("z", "1"), ("a", "2")], payload: Array("é".utf8)))
        #expect(
            text == #"{"sequence":7,"name":"a.b","object":null,"time":"1970-01-01T00:00:01.000001Z","uid":1,"gid":2,"#
                + #""pid":3,"headers":{"z":"1","a":"2"},"redelivered":false,"payload":"é"}"# + "\n")
    }

    @Test func `in JSON, a payload that is not UTF-8 is in base64`() throws {
        let text = try text(.json, message(object: "o", payload: [0xFF, 0, 1], isRedelivered: true))
        #expect(text.hasSuffix(#""headers":{},"redelivered":true,"payload_base64":"/wAB"}"# + "\n"))
        #expect(text.contains(#""object":"o""#))
    }

    // MARK: Terminals

    private func terminalText(_ content: MessageFormat.Content, _ message: NotificationClient.Message) -> String {
        var bytes: [UInt8] = []
        MessageFormat(content: content, terminator: UInt8(ascii: "\n"), replacesControls: true)
            .append(message, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `control characters of messages are replaced on a terminal`() throws {
        let hostile = Array("é\u{1B}[31m\r\u{7F}\u{9B}2J\tx\n".utf8)
        let message = try message(object: "o\u{1B}", headers: [("k", "\u{9B}")], payload: hostile)
        let shown = "é\u{FFFD}[31m\u{FFFD}\u{FFFD}\u{FFFD}2J\tx\n"
        #expect(terminalText(.payload, message) == shown + "\n")
        #expect(terminalText(.nameAndPayload, message) == "a.b " + shown + "\n")
        // Control characters of the format itself are kept.
        let template = try FormatTemplate("\u{1B}{payload}{text}{object}{header:k}")
        #expect(
            terminalText(.template(template), message) == "\u{1B}" + shown + shown + "o\u{FFFD}\u{FFFD}\n")
        for content in [MessageFormat.Content.json, .template(try FormatTemplate("{headers}{json}"))] {
            let controls = terminalText(content, message).dropLast().unicodeScalars.filter {
                $0.properties.generalCategory == .control
            }
            #expect(controls.isEmpty)
        }
    }

    @Test func `bytes that are not UTF-8 are replaced on a terminal`() throws {
        #expect(terminalText(.payload, try message(payload: [0x9B, 0x41])) == "\u{FFFD}A\n")
    }

    // MARK: Templates

    @Test func `a template can contain every field`() throws {
        let message = try message(
            object: "o", headers: [("k", "v w"), ("l", "")], payload: Array("é".utf8), isRedelivered: true)
        let fields = [
            ("sequence", "7"), ("time", "1970-01-01T00:00:01.000001Z"), ("uid", "1"), ("gid", "2"), ("pid", "3"),
            ("name", "a.b"), ("object", "o"), ("payload", "é"), ("text", "é"), ("headers", #"{"k":"v w","l":""}"#),
            ("header:k", "v w"), ("header:l", ""), ("header:none", ""), ("redelivered", "true"),
        ]
        for (name, value) in fields {
            #expect(try text("{\(name)}", message) == value)
            #expect(FormatTemplate.Field.names.contains(name.prefix { $0 != ":" }))
        }
        #expect(try text("{json}", message) == text(.json, terminator: nil, message))
    }

    @Test func `missing fields are empty, and payload bytes are unchanged`() throws {
        let message = try message(payload: [0xFF, 0x41])
        #expect(try text("[{object}{header:k}] {headers}", message) == "[] {}")
        var bytes: [UInt8] = []
        try FormatTemplate("{payload}|").append(message, to: &bytes)
        #expect(bytes == [0xFF, 0x41, UInt8(ascii: "|")])
        #expect(try text("{text}", message) == "\u{FFFD}A")
    }

    @Test func `text is printed unchanged, and escapes are replaced`() throws {
        let message = try message(payload: Array("x".utf8))
        #expect(try text("", message) == "")
        #expect(try text("ä }{name} {name}", message) == "ä }a.b a.b")
        #expect(try text(#"\n\t\r\0\\\{name\}"#, message) == "\n\t\r\0\\{name}")
    }

    @Test(arguments: ["{nam}", "{}", "{header:}", "{Name}", "{ name}"])
    func `an unknown field is refused with the list of fields`(template: String) {
        let error = #expect(throws: ValidationError.self) { try FormatTemplate("{name} " + template) }
        #expect(
            error?.message
                == "unknown field '\(template)'; expected sequence, time, uid, gid, pid, name, object, payload, text, "
                + #"headers, redelivered, json or header:KEY; write \{ for a brace"#)
    }

    @Test(arguments: [#"\q"#, #"x\"#, "{name", "{"])
    func `unclosed fields and unknown escapes are refused`(template: String) {
        #expect(throws: ValidationError.self) { try FormatTemplate(template) }
    }
}
