extension LocalCenter {
    /// What is left to do after a registration, without the lock.
    fileprivate struct Registered {
        var observer: Observer
        /// The observation whose key it took.
        var replaced: Observer?
        var ofGoneOwner: [Observer] = []
        var dropped: PostTable.Dropped
        var sticky: [LocalNotification]
        var isPruningDue = false
        var repeated: RepeatedObservation?
        var hooks: CenterHooks?
    }

    /// Registers somebody, who gets every post that begins after this has returned.
    @discardableResult
    func register(_ request: Observer.Request) -> Observation {
        let registered = state.withLock { state in state.register(request, cache: cache) }
        finish(registered, owner: request.owner)
        let observer = registered.observer
        return Observation(center: self, registration: observer.registration, slot: observer.slot)
    }

    @inline(__always)
    private func finish(_ registered: Registered, owner: Receiver.Owner?) {
        registered.replaced?.end()
        for notification in registered.sticky { registered.observer.deliver(notification, in: self) }
        guard owner != nil || registered.isPruningDue else { return }
        for observer in registered.ofGoneOwner { end(observer) }
        if let repeated = registered.repeated { registered.hooks?.repeated(repeated) }
        if registered.isPruningDue { endOrphans() }
    }
}

extension LocalCenter.State {
    fileprivate mutating func register(_ request: Observer.Request, cache: borrowing PostCache)
        -> LocalCenter.Registered
    {
        let slot = observers.nextSlot
        let id = add(request, slot: slot)
        let observer = Observer(registration: id, slot: slot, request: request)
        observers.insert(observer)
        var registered = LocalCenter.Registered(
            observer: observer, dropped: cache.drop(request.names, object: request.object?.key),
            sticky: request.options.wantsSticky ? sticky.matching(request.names, object: request.object) : [])
        if let key = request.options.key {
            let key = LocalCenter.ObservationKey(owner: request.owner.map(ObjectIdentifier.init), key: key)
            if let earlier = keys.updateValue(slot, forKey: key), earlier != slot {
                registered.replaced = remove(earlier, cache: cache, dropped: &registered.dropped)
            }
        }
        if let owner = request.owner {
            add(observer, of: owner, to: &registered)
        }
        additionsUntilPruning -= 1
        registered.isPruningDue = additionsUntilPruning <= 0 && observer.canBeOrphaned
        return registered
    }

    private mutating func add(_ request: Observer.Request, slot: Int32) -> UInt64 {
        guard let object = request.object?.key else { return add(request, object: nil, slot: slot) }
        return object.withBytes { add(request, object: $0, slot: slot) }
    }

    private mutating func add(_ request: Observer.Request, object: UnsafeRawBufferPointer?, slot: Int32) -> UInt64 {
        let priority = request.options.priority
        return switch request.names.kind {
        case .name(let name): core.add(name: name, objectBytes: object, priority: priority, slot: slot)
        case .patterns(let patterns): core.add(patterns: patterns, objectBytes: object, priority: priority, slot: slot)
        }
    }

    private mutating func add(
        _ observer: Observer, of owner: Receiver.Owner, to registered: inout LocalCenter.Registered
    ) {
        let id = ObjectIdentifier(owner)
        if let first = owners.first(of: id), observers[first]?.isOwned(by: owner) == false {
            // Another one lived at this address, and is gone.
            registered.ofGoneOwner = owners.all(of: id).compactMap { observers[$0] }
            owners.removeAll(of: id)
        }
        if owners.add(observer.slot, to: id) {
            registered.repeated = owners.repeated(by: owner, in: observers)
            registered.hooks = registered.repeated == nil ? nil : hooks
        }
    }

    /// Takes an observer out of everything.
    fileprivate mutating func remove(
        _ slot: Int32, cache: borrowing PostCache, dropped: inout PostTable.Dropped
    ) -> Observer? {
        guard let observer = observers.remove(slot) else { return nil }
        _ = core.remove(observer.registration)
        dropped = cache.drop(observer.names, object: observer.objectKey)
        if observer.isOwned { owners.remove(slot) }
        if let key = observer.options.key {
            let owner = observer.ownerIdentifier
            let key = LocalCenter.ObservationKey(owner: owner, key: key)
            if keys[key] == slot { keys[key] = nil }
        }
        return observer
    }
}

// MARK: - Ending

extension LocalCenter {
    /// Ends an observation that may have ended before.
    func end(_ registration: UInt64, slot: Int32) {
        var dropped = PostTable.Dropped()
        let observer = state.withLock { state -> Observer? in
            guard state.observers[slot]?.registration == registration else { return nil }
            return state.remove(slot, cache: cache, dropped: &dropped)
        }
        observer?.end()
        // The last references go here and not under the lock: what the closure held may call the center as it goes.
        withExtendedLifetime((observer, dropped)) {}
    }

    func end(_ observer: Observer) {
        end(observer.registration, slot: observer.slot)
    }

    /// Ends all observations that were made with this owner. Calls that have begun on another thread may still finish; no
    /// other begins.
    public func removeObservations(of owner: some AnyObject & Sendable) {
        let owned = state.withLock { state in
            state.owners.all(of: ObjectIdentifier(owner)).compactMap { state.observers[$0] }
        }
        for observer in owned { end(observer) }
    }

    /// Ends all observations.
    public func removeAllObservations() {
        let all = state.withLock { Array($0.observers.all) }
        for observer in all { end(observer) }
    }

    /// Ends the observations of owners and instances that are gone. Those that are posted to end by themselves; this is for
    /// the others, and comes after as many additions as there were observations last time.
    func endOrphans() {
        let candidates = state.withLock { state in
            state.additionsUntilPruning = max(Self.smallestPruningInterval, state.core.registrationCount)
            return state.observers.all.filter(\.canBeOrphaned)
        }
        // Not under the lock: looking at an owner may turn out to hold its last reference.
        for observer in candidates where observer.isOrphaned { end(observer) }
    }
}
