public import NotifyBroadcast
import TestSupport
import Testing

// Broadcasters have the scope and the access level of their protocol.

/// A public protocol.
@Broadcast(codable) public protocol PublicEvents: AnyObject, Sendable {
    func happened()
    @Optional func perhaps(_ number: Int)
}

@Broadcast(codable) package protocol PackageEvents: AnyObject, Sendable {
    func happened()
    @Optional func perhaps(_ number: Int)
}

@Broadcast(codable) fileprivate protocol FileEvents: AnyObject, Sendable {
    func happened()
    @Optional func perhaps(_ number: Int)
}

@Broadcast(codable) private protocol PrivateEvents: AnyObject, Sendable {
    func happened()
    @Optional func perhaps(_ number: Int)
}

/// A public protocol that is not available yet.
@available(macOS 99, *) @Broadcast(codable) public protocol FutureEvents: AnyObject, Sendable {
    func happened()
    @Optional func perhaps(_ number: Int)
}

/// A type with nested protocols.
public enum Space {
    /// A nested public protocol.
    @Broadcast(codable) public protocol Events: AnyObject, Sendable {
        func happened()
        @Optional func perhaps(_ number: Int)
    }

    @Broadcast(codable) private protocol Secrets: AnyObject, Sendable {
        func happened()
    }

    fileprivate static func tell(_ journal: Journal) {
        final class Receiver: Secrets {
            let journal: Journal
            init(_ journal: Journal) { self.journal = journal }
            func happened() { journal.note("secret") }
        }
        let secrets = SecretsBroadcaster()
        let receiver = Receiver(journal)
        secrets.register(receiver, for: .happened)
        secrets.dispatch(.happened)
        withExtendedLifetime(receiver) {}
    }
}

@Suite struct PlacementTests {
    private final class Receiver: PublicEvents, PackageEvents, FileEvents, PrivateEvents, Space.Events {
        let journal: Journal
        init(_ journal: Journal) { self.journal = journal }
        func happened() { journal.note("happened") }
        func perhaps(_ number: Int) { journal.note("\(number)") }
    }

    private final class Bare: Space.Events {
        func happened() {}
    }

    private let journal = Journal()

    @Test func `protocols of each access level can be broadcast`() {
        let receiver = Receiver(journal)
        let (ofPublic, ofPackage) = (PublicEventsBroadcaster(), PackageEventsBroadcaster())
        let (ofFile, ofPrivate) = (FileEventsBroadcaster(), PrivateEventsBroadcaster())
        ofPublic.register(receiver)
        ofPackage.register(receiver, for: [.happened])
        ofFile.register(receiver, for: [.happened])
        ofPrivate.register(receiver, for: [.happened])
        ofPublic.dispatch(.happened)
        ofPackage.dispatch(.happened)
        ofFile.dispatch(.happened)
        ofPrivate.dispatch(.happened)
        #expect(journal.take() == ["happened", "happened", "happened", "happened"])
        ofPublic.perhaps(1)
        ofPackage.perhaps(2)
        #expect(journal.take() == ["1"])
    }

    @Test func `a protocol nested in a type has its broadcaster there`() {
        let events = Space.EventsBroadcaster()
        let (receiver, bare) = (Receiver(journal), Bare())
        events.register(bare)
        events.register(receiver, for: .perhaps)
        events.perhaps(7)
        events.dispatch(Space.EventsCall.happened)
        #expect(journal.take() == ["7"])
        #expect(events.receiverCount == 2)
        Space.tell(journal)
        #expect(journal.take() == ["secret"])
    }
}
