package import NIOCore

/// The kind of items in a list.
package enum ListSubject: UInt8, CaseIterable, Sendable {
    /// Durable subscriptions, each as a `SubscriptionEntry`.
    case durables = 0
    /// Durable subscriptions, and the volatile subscriptions and servers of connected clients, each as a
    /// `SubscriptionEntry`.
    case subscriptions = 1
    /// Connected clients, each as a `ClientEntry`.
    case clients = 2
    /// Names of recent posts, each as a `NameEntry`.
    case names = 3
    /// Durable subscriptions with their unacknowledged messages, each as a `DurableEntry`.
    case backlogs = 4
}

/// Requests a list. A list of names contains the names that the client may receive. A list of subscriptions or clients
/// contains the items of the client's user or, if the client may manage everything, of every user.
///
/// The answer is an entry for each item and a `ListEnd`. The answer is sent in pieces: an item that appears or
/// disappears meanwhile may be missing.
package struct ListRequest: ControlFrame {
    package static let kind = FrameKind.list

    package var request: UInt64
    package var subject: ListSubject

    package init(request: UInt64, subject: ListSubject = .durables) {
        self.request = request
        self.subject = subject
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        let subject: UInt8 = try body.integer()
        try body.skip(3)
        guard let known = ListSubject(rawValue: subject) else {
            throw WireError(.unsupported, "this version has no list number \(subject)")
        }
        self.subject = known
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeInteger(subject.rawValue)
        buffer.writeRepeatingByte(0, count: 3)
    }
}

/// An entry of a list that clients request by the type of its entries.
package protocol ListedEntry: ControlFrame {
    static var subject: ListSubject { get }
}

/// A `ListRequest` of a client that knows the type of the entries.
package struct EntriesRequest<Entry: ListedEntry>: RequestFrame {
    package typealias Reply = [Entry]

    package var request: UInt64 = 0

    package init() {}

    package func write(to buffer: inout ByteBuffer) {
        ListRequest(request: request, subject: Entry.subject).write(to: &buffer)
    }
}

/// The end of the answer to a list.
package struct ListEnd: BareFrame {
    package static let kind = FrameKind.listEnd

    package var request: UInt64

    package init(request: UInt64) {
        self.request = request
    }
}
